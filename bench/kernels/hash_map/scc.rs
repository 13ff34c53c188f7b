// SPDX-License-Identifier: Apache-2.0
//! A hash map with the crate scc.

#[path = "../container_keys.rs"]
mod container_keys;
#[path = "../frame.rs"]
mod frame;
#[path = "hash_map.rs"]
mod hash_map;

use container_keys::Key;

struct Map<K: Key>(scc::HashMap<K, u64>);

impl<K: Key> Default for Map<K> {
    fn default() -> Self {
        Map(scc::HashMap::new())
    }
}

impl<K: Key> hash_map::Map<K> for Map<K> {
    fn insert(&self, key: K, value: u64) -> bool {
        self.0.insert_sync(key, value).is_ok()
    }

    fn find(&self, key: &K) -> Option<u64> {
        self.0.read_sync(key, |_, found| *found)
    }

    fn add(&self, key: &K, value: u64) -> bool {
        self.0.update_sync(key, |_, found| *found += value).is_some()
    }

    fn erase(&self, key: &K) -> bool {
        self.0.remove_sync(key).is_some()
    }
}

fn main() {
    hash_map::measure::<Map<u64>, Map<String>>();
}

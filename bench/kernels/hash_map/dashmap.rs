// SPDX-License-Identifier: Apache-2.0
//! A hash map with the crate dashmap.

#[path = "../container_keys.rs"]
mod container_keys;
#[path = "../frame.rs"]
mod frame;
#[path = "hash_map.rs"]
mod hash_map;

use container_keys::Key;

struct Map<K: Key>(dashmap::DashMap<K, u64>);

impl<K: Key> Default for Map<K> {
    fn default() -> Self {
        Map(dashmap::DashMap::new())
    }
}

impl<K: Key> hash_map::Map<K> for Map<K> {
    fn insert(&self, key: K, value: u64) -> bool {
        match self.0.entry(key) {
            dashmap::Entry::Vacant(place) => {
                place.insert(value);
                true
            }
            dashmap::Entry::Occupied(_) => false,
        }
    }

    fn find(&self, key: &K) -> Option<u64> {
        self.0.get(key).map(|found| *found)
    }

    fn add(&self, key: &K, value: u64) -> bool {
        self.0.get_mut(key).map(|mut found| *found += value).is_some()
    }

    fn erase(&self, key: &K) -> bool {
        self.0.remove(key).is_some()
    }
}

fn main() {
    hash_map::measure::<Map<u64>, Map<String>>();
}

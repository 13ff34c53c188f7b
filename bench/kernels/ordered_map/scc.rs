// SPDX-License-Identifier: Apache-2.0
//! An ordered map: the B+ tree of scc.

#[path = "../container_keys.rs"]
mod container_keys;
#[path = "../frame.rs"]
mod frame;
#[path = "../insert_find.rs"]
mod insert_find;

use container_keys::Key;

struct Map<K: Key>(scc::TreeIndex<K, u64>);

impl<K: Key> Default for Map<K> {
    fn default() -> Self {
        Map(scc::TreeIndex::new())
    }
}

impl<K: Key> insert_find::Map<K> for Map<K> {
    fn insert(&self, key: K, value: u64) -> bool {
        self.0.insert_sync(key, value).is_ok()
    }

    fn find(&self, key: &K) -> Option<u64> {
        self.0.peek_with(key, |_, found| *found)
    }
}

fn main() {
    insert_find::measure::<Map<u64>, Map<String>>();
}

// SPDX-License-Identifier: Apache-2.0
//! An ordered map: the skip list of crossbeam.

#[path = "../container_keys.rs"]
mod container_keys;
#[path = "../frame.rs"]
mod frame;
#[path = "../insert_find.rs"]
mod insert_find;

use container_keys::Key;

struct Map<K: Key>(crossbeam_skiplist::SkipMap<K, u64>);

impl<K: Key> Default for Map<K> {
    fn default() -> Self {
        Map(crossbeam_skiplist::SkipMap::new())
    }
}

impl<K: Key> insert_find::Map<K> for Map<K> {
    fn insert(&self, key: K, value: u64) -> bool {
        let mut created = false;
        self.0.get_or_insert_with(key, || {
            created = true;
            value
        });
        created
    }

    fn find(&self, key: &K) -> Option<u64> {
        self.0.get(key).map(|found| *found.value())
    }
}

fn main() {
    insert_find::measure::<Map<u64>, Map<String>>();
}

// SPDX-License-Identifier: Apache-2.0
// Freed blocks that are kept from reuse for a while, so that a late access finds no other block in
// their place. First in, first out.
//
// There are several queues, each with its own lock, and a thread uses the same one each time. All
// queues share one bound.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/map/instrument_hooks.hpp"

namespace corbel::alloc {

class Quarantine {
 public:
  // Adds a raw block, which takes `bytes`.
  void add(char* raw, std::size_t bytes);

  // Removes the block that should go next if there is more in quarantine than `limit`; nullptr if
  // there is not. Stores in `*next` the one that will probably go after it, or nullptr.
  char* take_excess(std::size_t limit, char** next);

 private:
  struct Entry {
    char* raw;
    std::size_t bytes;
  };
  struct Chunk;
  struct Queue {
    Chunk* first;
    Chunk* last;
    Chunk* spare;
    std::atomic<std::size_t> bytes;
  };

  char* take_first(unsigned index, char** next);

  Queue queues_[kQuarantineLocks]{};
  std::atomic<std::size_t> bytes_{0};
};

extern Quarantine quarantine;

}  // namespace corbel::alloc

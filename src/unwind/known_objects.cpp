// SPDX-License-Identifier: Apache-2.0
#include "unwind/known_objects.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace corbel::unwind {

namespace {

constexpr std::size_t kIdSize = 16;  // of a build id, what is compared

struct Known {
  enum State : std::uint32_t { kFree, kBeingWritten, kComplete };
  std::atomic<std::uint32_t> state;
  // Where the build id is in the object. 0: it is the program.
  std::uint32_t id_offset;
  std::uintptr_t low;
  const unsigned char* unwind_index;
  unsigned char id[kIdSize];

  bool is(const os::CodeObject& object) const {
    if (low != object.low || unwind_index != object.unwind_index) return false;
    if (id_offset == 0) return true;
    // The first page is mapped whatever object it is.
    return std::memcmp(reinterpret_cast<const void*>(low + id_offset), id, kIdSize) == 0;
  }
};
constinit Known known[kMaxKnownObjects]{};

void fill(Known& entry, const os::CodeObject& object, std::uintptr_t id) {
  entry.low = object.low;
  entry.unwind_index = object.unwind_index;
  if (object.is_program) return;
  entry.id_offset = std::uint32_t(id - object.low);
  std::memcpy(entry.id, reinterpret_cast<const void*>(id), kIdSize);
}

std::size_t hash_of(const os::CodeObject& object) {
  const std::uintptr_t both = object.low ^ reinterpret_cast<std::uintptr_t>(object.unwind_index)
                                               << 7;
  return std::size_t(both * 0x9e3779b97f4a7c15) >> 32;  // 2^64 / the golden ratio
}

}  // namespace

std::uint32_t number_of(const os::CodeObject& object) {
  constexpr unsigned kMaxTries = 16;
  constexpr std::size_t kPage = 4096;
  const std::size_t hash = hash_of(object);
  for (unsigned i = 0; i < kMaxTries; ++i) {
    const std::size_t at = (hash + i) % kMaxKnownObjects;
    Known& entry = known[at];
    // (2) acquire: sees the fields published by (1)
    std::uint32_t state = entry.state.load(std::memory_order_acquire);
    if (state == Known::kFree) {
      os::BuildId id;
      if (!object.is_program) {
        id = os::find_build_id(object.low);
        if (id.size < kIdSize || id.address - object.low > kPage - kIdSize) return 0;
      }
      // relaxed both: only this thread writes the fields then, and none reads them before (1)
      if (!entry.state.compare_exchange_strong(state, Known::kBeingWritten,
                                               std::memory_order_relaxed)) {
        return 0;
      }
      fill(entry, object, id.address);
      // (1) release: publishes the fields to (2)
      entry.state.store(Known::kComplete, std::memory_order_release);
      return std::uint32_t(at + 1);
    }
    // This thread may have been interrupted while it writes the entry: it cannot wait.
    if (state == Known::kBeingWritten) return 0;
    if (entry.is(object)) return std::uint32_t(at + 1);
  }
  return 0;
}

}  // namespace corbel::unwind

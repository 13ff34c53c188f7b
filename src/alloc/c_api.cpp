// SPDX-License-Identifier: Apache-2.0
// The C functions of <corbel/malloc.h>, which documents them.
#include <corbel/malloc.h>
#include <errno.h>
#include <string.h>

#include <algorithm>

#include "alloc/allocator.hpp"
#include "alloc/check/verify.hpp"
#include "alloc/heap/fast_path.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/leaks/leak_check.hpp"
#include "alloc/policy/container_limit.hpp"
#include "alloc/policy/environment.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "alloc/policy/reclaim.hpp"
#include "alloc/profile/heap_profile.hpp"
#include "alloc/report/stats_json.hpp"
#include "alloc/sample/sampler.hpp"
#include "base/config.hpp"
#include "os/os.hpp"

using namespace corbel;

namespace {

void set_soft_limit(const MemoryAmount& amount) {
  alloc::container_limit.ask_soft(amount, alloc::LimitSource::kCall);
  alloc::heap_limit.enforce(alloc::find_heap());
}

}  // namespace

extern "C" {

const char* corbel_version(void) noexcept { return config::kVersion; }

void* scalable_malloc(size_t size) noexcept { return alloc::allocate_fast(size); }

void scalable_free(void* ptr) noexcept { alloc::deallocate_fast(ptr); }

void* scalable_realloc(void* ptr, size_t size) noexcept { return alloc::reallocate(ptr, size); }

void* scalable_calloc(size_t nobj, size_t size) noexcept {
  return alloc::allocate_zeroed(nobj, size);
}

int scalable_posix_memalign(void** memptr, size_t alignment, size_t size) noexcept {
  if (!is_power_of_two(alignment) || alignment < sizeof(void*)) return EINVAL;
  // POSIX returns the error and leaves errno unchanged.
  const os::SavedErrno saved;
  void* block = alloc::allocate_aligned(size, alignment);
  saved.restore();
  if (block == nullptr) return ENOMEM;
  *memptr = block;
  return 0;
}

void* scalable_aligned_malloc(size_t size, size_t alignment) noexcept {
  if (!is_power_of_two(alignment) || size == 0) {
    os::set_errno(EINVAL);
    return nullptr;
  }
  return alloc::allocate_aligned(size, alignment);
}

void* scalable_aligned_realloc(void* ptr, size_t size, size_t alignment) noexcept {
  if (!is_power_of_two(alignment)) {
    os::set_errno(EINVAL);
    return nullptr;
  }
  return alloc::reallocate_aligned(ptr, size, alignment);
}

void scalable_aligned_free(void* ptr) noexcept { alloc::deallocate_fast(ptr); }

size_t scalable_msize(void* ptr) noexcept {
  const size_t size = alloc::is_block(ptr) ? alloc::usable_size(ptr) : 0;
  if (size == 0) os::set_errno(EINVAL);
  return size;
}

int scalable_allocation_mode(int param, intptr_t value) noexcept {
  switch (param) {
    case TBBMALLOC_USE_HUGE_PAGES:
      if (value != 0 && value != 1) return TBBMALLOC_INVALID_PARAM;
      alloc::set_huge_pages(value == 1 ? alloc::HugePages::kAlways : alloc::HugePages::kAuto);
      return TBBMALLOC_OK;
    case TBBMALLOC_SET_SOFT_HEAP_LIMIT:
      set_soft_limit({MemoryAmount::Kind::kBytes, size_t(value)});
      return TBBMALLOC_OK;
    case TBBMALLOC_SET_HUGE_SIZE_THRESHOLD:
      alloc::set_huge_threshold(size_t(value));
      return TBBMALLOC_OK;
    default:
      return TBBMALLOC_INVALID_PARAM;
  }
}

int corbel_set_heap_limit(size_t bytes) noexcept {
  const bool from_container = bytes == CORBEL_HEAP_LIMIT_AUTO;
  set_soft_limit({from_container ? MemoryAmount::Kind::kAuto : MemoryAmount::Kind::kBytes,
                  from_container ? 0 : bytes});
  return 0;
}

int corbel_set_heap_hard_limit(size_t bytes) noexcept {
  const bool from_container = bytes == CORBEL_HEAP_LIMIT_AUTO;
  alloc::container_limit.ask_hard(
      {from_container ? MemoryAmount::Kind::kAuto : MemoryAmount::Kind::kBytes,
       from_container ? 0 : bytes},
      alloc::LimitSource::kCall);
  alloc::heap_limit.enforce(alloc::find_heap());
  return 0;
}

int corbel_on_limit(corbel_limit_callback callback, void* context) noexcept {
  alloc::heap_limit.set_callback(callback, context);
  return 0;
}

int scalable_allocation_command(int cmd, void* param) noexcept {
  if (param != nullptr) return TBBMALLOC_INVALID_PARAM;
  bool found;
  switch (cmd) {
    case TBBMALLOC_CLEAN_ALL_BUFFERS:
      found = alloc::flush_thread(alloc::find_heap());
      found = alloc::trim(0) != 0 || found;
      break;
    case TBBMALLOC_CLEAN_THREAD_BUFFERS:
      found = alloc::flush_thread(alloc::find_heap());
      break;
    default:
      return TBBMALLOC_INVALID_PARAM;
  }
  return found ? TBBMALLOC_OK : TBBMALLOC_NO_EFFECT;
}

int corbel_heap_stats(struct corbel_heap_stats* stats, size_t size) noexcept {
  if (stats == nullptr || size < sizeof(stats->size)) return EINVAL;
  const alloc::Stats known = alloc::stats();
  const size_t common = std::min(size, sizeof(known));
  memcpy(stats, &known, common);
  memset(reinterpret_cast<char*>(stats) + common, 0, size - common);
  return 0;
}

size_t corbel_heap_stats_json(char* buffer, size_t size) noexcept {
  TextInto text(buffer, buffer != nullptr ? size : 0);
  alloc::add_json(text, alloc::stats());
  return text.finish();
}

int corbel_leak_check(void) noexcept {
  switch (alloc::check_leaks(__builtin_return_address(0))) {
    case alloc::LeakVerdict::kNone:
      return 0;
    case alloc::LeakVerdict::kSome:
      return 1;
    case alloc::LeakVerdict::kNotRecording:
      os::set_errno(ENOTSUP);
      return -1;
    case alloc::LeakVerdict::kBusy:
      os::set_errno(EBUSY);
      return -1;
    case alloc::LeakVerdict::kNotPossible:
      os::set_errno(EPERM);
      return -1;
  }
  return -1;
}

int corbel_heap_profile_start(size_t every) noexcept {
  if (every > alloc::kMaxSamplingDistance) return EINVAL;
  alloc::start_heap_profile(every);
  return 0;
}

int corbel_heap_profile_stop() noexcept {
  alloc::stop_heap_profile();
  return 0;
}

int corbel_heap_profile_write(const char* path) noexcept {
  return path != nullptr ? alloc::write_heap_profile_to(path) : EINVAL;
}

int corbel_heap_profile_write_fd(int file) noexcept {
  os::OutputFile output(file);
  return alloc::write_heap_profile(output, false);
}

int corbel_check_heap(void) noexcept {
  if (!alloc::watches()) return ENOTSUP;
  alloc::verify_all("found");
  return 0;
}

}  // extern "C"

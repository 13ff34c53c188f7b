// SPDX-License-Identifier: Apache-2.0
// The rml::pool_* functions. They check their arguments as documented in <corbel/raw_pool.hpp>.
#include <cerrno>

#include <corbel/raw_pool.hpp>

#include "base/bits.hpp"
#include "os/errno.hpp"
#include "pools/pool.hpp"

namespace rml {

using corbel::pools::Pool;

namespace {

Pool* to_pool(MemoryPool* pool) { return reinterpret_cast<Pool*>(pool); }

constexpr std::size_t kAnyAlignment = 16;

// Blocks of up to 8 bytes are aligned to 8 only.
std::size_t natural_alignment(std::size_t size) { return size <= 8 ? 8 : kAnyAlignment; }

}  // namespace

MemPoolError pool_create_v1(std::intptr_t pool_id, const MemPoolPolicy* policy, MemoryPool** pool) {
  if (pool == nullptr) return INVALID_POLICY;
  *pool = nullptr;
  if (policy == nullptr || policy->pAlloc == nullptr ||
      policy->version < MemPoolPolicy::TBBMALLOC_POOL_VERSION ||
      (policy->pFree == nullptr && !policy->fixedPool)) {
    return INVALID_POLICY;
  }
  if (policy->version > MemPoolPolicy::TBBMALLOC_POOL_VERSION || policy->reserved != 0) {
    return UNSUPPORTED_POLICY;
  }
  Pool* made = nullptr;
  const MemPoolError error = Pool::create(pool_id, *policy, &made);
  *pool = reinterpret_cast<MemoryPool*>(made);
  return error;
}

MemoryPool* pool_create(std::intptr_t pool_id, const MemPoolPolicy* policy) {
  const MemPoolPolicy known(policy->pAlloc, policy->pFree, policy->granularity);
  MemoryPool* pool = nullptr;
  pool_create_v1(pool_id, &known, &pool);
  return pool;
}

bool pool_destroy(MemoryPool* memPool) {
  return memPool != nullptr && Pool::destroy(to_pool(memPool));
}

bool pool_reset(MemoryPool* memPool) {
  if (memPool == nullptr) return false;
  to_pool(memPool)->reset();
  return true;
}

void* pool_malloc(MemoryPool* memPool, std::size_t size) {
  if (memPool == nullptr) return nullptr;
  return to_pool(memPool)->allocate(size, natural_alignment(size));
}

void* pool_realloc(MemoryPool* memPool, void* object, std::size_t size) {
  if (memPool == nullptr) return nullptr;
  if (object == nullptr) return pool_malloc(memPool, size);
  if (size == 0) {
    to_pool(memPool)->deallocate(object);
    return nullptr;
  }
  return to_pool(memPool)->reallocate(object, size, natural_alignment(size));
}

void* pool_aligned_malloc(MemoryPool* mPool, std::size_t size, std::size_t alignment) {
  if (mPool == nullptr || size == 0 || !corbel::is_power_of_two(alignment)) return nullptr;
  const std::size_t natural = natural_alignment(size);
  return to_pool(mPool)->allocate(size, alignment > natural ? alignment : natural);
}

void* pool_aligned_realloc(MemoryPool* mPool, void* ptr, std::size_t size, std::size_t alignment) {
  if (mPool == nullptr || !corbel::is_power_of_two(alignment)) return nullptr;
  if (ptr == nullptr) return pool_aligned_malloc(mPool, size, alignment);
  if (size == 0) {
    to_pool(mPool)->deallocate(ptr);
    return nullptr;
  }
  const std::size_t natural = natural_alignment(size);
  return to_pool(mPool)->reallocate(ptr, size, alignment > natural ? alignment : natural);
}

bool pool_free(MemoryPool* memPool, void* object) {
  if (memPool == nullptr || object == nullptr) return false;
  to_pool(memPool)->deallocate(object);
  return true;
}

MemoryPool* pool_identify(void* object) {
  return object == nullptr ? nullptr : reinterpret_cast<MemoryPool*>(Pool::of(object));
}

std::size_t pool_msize(MemoryPool* memPool, void* object) {
  if (memPool == nullptr || object == nullptr) {
    os::set_errno(EINVAL);
    return 0;
  }
  return to_pool(memPool)->usable_size(object);
}

}  // namespace rml

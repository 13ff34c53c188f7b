// SPDX-License-Identifier: Apache-2.0
// Memory from the Linux kernel: anonymous private mappings.
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bits.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

// Since Linux 5.7; the C library's headers may be older.
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

// Since Linux 4.17.
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// Since Linux 5.14.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace corbel::os {
namespace {

// relaxed throughout: nothing else is published; a thread that misses a refusal of another one sees
// its own
constinit std::atomic<bool> lock_limit_refused{false};

void* map_anywhere(std::size_t size, void* hint) {
  void* p = mmap(hint, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED) return p;
  if (errno == EAGAIN) lock_limit_refused.store(true, std::memory_order_relaxed);
  return nullptr;
}

// Whether the word at `address` has this value. The kernel reads it, because it may be unreadable.
bool reads_as(const void* address, std::uint64_t value) {
  std::uint64_t word = 0;
  const iovec local{&word, sizeof word};
  const iovec remote{const_cast<void*>(address), sizeof word};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof word && word == value;
}

// Whether populate() may work; false once the system has refused.
constinit std::atomic<bool> can_populate{true};

void note_refusal() {
  if (errno == EINVAL || errno == ENOSYS || errno == EPERM) {
    // relaxed: nothing else is published; a thread that still reads true asks the system once more
    can_populate.store(false, std::memory_order_relaxed);
  }
}

}  // namespace

std::size_t page_size() {
  static std::atomic<std::size_t> known{0};
  // relaxed: nothing else is published; a thread that reads 0 asks the system for the same number
  std::size_t size = known.load(std::memory_order_relaxed);
  if (size == 0) {
    size = std::size_t(sysconf(_SC_PAGESIZE));
    known.store(size, std::memory_order_relaxed);  // relaxed: as above
  }
  return size;
}

void* map(std::size_t size, std::size_t alignment, void* hint) {
  ErrnoGuard guard;
  void* p = map_anywhere(size, hint);
  if (p == nullptr || address_of(p) % alignment == 0) return p;
  munmap(p, size);
  if (size + alignment < size) return nullptr;
  // Mapping more and cutting off both ends always works, but raises the peak of the address space.
  // The caller's hint makes it rare.
  const std::size_t padded = size + alignment - page_size();
  p = map_anywhere(padded, nullptr);
  if (p == nullptr) return nullptr;
  const std::uintptr_t start = address_of(p);
  const std::uintptr_t aligned = align_up(start, alignment);
  if (aligned != start) munmap(p, aligned - start);
  const std::uintptr_t end = aligned + size;
  if (end != start + padded) munmap(pointer_to(end), start + padded - end);
  return pointer_to(aligned);
}

bool unmap(void* address, std::size_t size) {
  ErrnoGuard guard;
  return munmap(address, size) == 0;
}

bool lock_limit_has_refused() { return lock_limit_refused.load(std::memory_order_relaxed); }

namespace {

// For memory that was never written: gives it back, too.
void unlock_unused(void* address, std::size_t size) {
  if (munlock(address, size) == 0) madvise(address, size, MADV_DONTNEED);
}

}  // namespace

// The kernel compares the whole size of a mapping with the limit when it maps. A piece that is
// unlocked at once makes room for the next.
void* map_unlocked(std::size_t size) {
  ErrnoGuard guard;
  constexpr std::size_t kPiece = std::size_t(64) << 10;
  // Most probably the addresses around the hint are free: far below what the kernel would choose.
  constexpr std::size_t kDistance = std::size_t(1) << 30;
  void* probe = map_anywhere(size, nullptr);
  if (probe != nullptr) unlock_unused(probe, size);
  if (probe != nullptr || errno != EAGAIN) return probe;
  probe = map_anywhere(kPiece, nullptr);
  if (probe == nullptr) return nullptr;
  munmap(probe, kPiece);
  constexpr int kTries = 8;
  for (int i = 1; i <= kTries && address_of(probe) > i * kDistance + size; ++i) {
    const std::uintptr_t begin = align_down(address_of(probe) - i * kDistance, kPiece);
    std::size_t mapped = 0;
    for (; mapped < size; mapped += kPiece) {
      void* const place = pointer_to(begin + mapped);
      void* const piece = mmap(place, kPiece, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (piece == MAP_FAILED) break;
      // An old kernel takes the address for a hint.
      if (piece != place) {
        munmap(piece, kPiece);
        break;
      }
      unlock_unused(piece, kPiece);
    }
    if (mapped >= size) return pointer_to(begin);
    if (mapped != 0) munmap(pointer_to(begin), mapped);
  }
  return nullptr;
}

void unlock(const void* address, std::size_t size) {
  ErrnoGuard guard;
  munlock(address, size);
}

bool decommit(void* address, std::size_t size) {
  ErrnoGuard guard;
  return madvise(address, size, MADV_DONTNEED) == 0;
}

bool clear(void* address, std::size_t size) { return decommit(address, size); }

bool protect(void* address, std::size_t size, Access access) {
  ErrnoGuard guard;
  return mprotect(address, size, access == Access::kAll ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

void populate(void* address, std::size_t size) {
  // relaxed: a stale true costs one refused system call
  if (!can_populate.load(std::memory_order_relaxed)) return;
  ErrnoGuard guard;
  if (madvise(address, size, MADV_POPULATE_WRITE) != 0) note_refusal();
}

bool is_resident(void* address) {
  // relaxed: a stale true costs one refused system call
  if (!can_populate.load(std::memory_order_relaxed)) return false;
  ErrnoGuard guard;
  unsigned char in_core = 0;
  // A system call by number: tools interpose the C library's wrapper.
  if (syscall(SYS_mincore, address, page_size(), &in_core) == 0) return (in_core & 1) != 0;
  note_refusal();
  return false;
}

Moved move_pages(void* from, void* to, std::size_t size) {
  ErrnoGuard guard;
  // Where the program has advised MADV_MERGEABLE, a signal or a stop makes Linux give mremap up
  // after it has moved a part; it starts again, and moves the part's empty source over the target
  // (seen on 6.18). This call takes back the advice and can be repeated.
  while (madvise(from, size, MADV_UNMERGEABLE) != 0 && errno == EINTR) {
  }
  // If the kernel refuses, the token tells our target from another thread's mapping in its place.
  const std::uint64_t token = 0x9e3779b97f4a7c15U * (address_of(to) ^ address_of(from)) | 1;
  *static_cast<std::uint64_t*>(to) = token;
  if (mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) == to) {
    return Moved::kYes;
  }
  // A kernel without the flags, or a sandbox without the call, has touched nothing. After any other
  // error the target may be unmapped, and another thread's mapping may lie there already.
  if (errno == EINVAL || errno == ENOSYS || errno == EPERM) return Moved::kUnchanged;
  return reads_as(to, token) ? Moved::kUnchanged : Moved::kTargetLost;
}

void advise(void* address, std::size_t size, PageAdvice preference) {
  ErrnoGuard guard;
  madvise(address, size, preference == PageAdvice::kDense ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

}  // namespace corbel::os

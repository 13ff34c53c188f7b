// SPDX-License-Identifier: Apache-2.0
// A scan for leaks may stop a thread at any time, also within the allocator. It must find a pointer
// to each block that has a record, and to the content that a realloc moves. The compiler may keep
// the address of the block's Span alone, and compute the block's from it when that is needed.
#pragma once

namespace corbel::alloc {

// Keeps an address on the thread's stack as long as it lives.
class KeptAddress {
 public:
  explicit KeptAddress(void* block) : block_(block) {}
  // The access is what makes the address live until here.
  ~KeptAddress() { get(); }
  KeptAddress(const KeptAddress&) = delete;
  KeptAddress& operator=(const KeptAddress&) = delete;

  void* get() const { return block_; }

 private:
  void* volatile block_;
};

}  // namespace corbel::alloc

// SPDX-License-Identifier: Apache-2.0
// The functions that limit the heap, looked up as in a program that is not linked with Corbel.
#pragma once

#include "life.hpp"

namespace life {

template <typename Function>
Function found(const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  CHECK(function != nullptr);
  return function;
}

inline void set_heap_limit(std::size_t bytes) {
  CHECK(found<int (*)(std::size_t)>("corbel_set_heap_limit")(bytes) == 0);
}

inline void set_hard_limit(std::size_t bytes) {
  CHECK(found<int (*)(std::size_t)>("corbel_set_heap_hard_limit")(bytes) == 0);
}

using LimitCallback = int (*)(void*, std::size_t);

inline void on_limit(LimitCallback callback, void* context) {
  CHECK(found<int (*)(LimitCallback, void*)>("corbel_on_limit")(callback, context) == 0);
}

// A list in the blocks themselves. It takes all available memory, checks it and frees it.
class Hoard {
 public:
  // Returns how many blocks it got.
  std::size_t fill(std::size_t size) {
    size_ = size;
    std::size_t count = 0;
    for (;; ++count) {
      errno = 0;
      auto* node = static_cast<Node*>(std::malloc(size));
      if (node == nullptr) break;
      CHECK(count < (std::size_t{1} << 36) / size);
      std::memset(static_cast<void*>(node), int(size & 0xff), size);
      node->next = first_;
      first_ = node;
    }
    CHECK(errno == ENOMEM);
    count_ += count;
    return count;
  }

  void free_some(std::size_t count) {
    for (; count > 0 && first_ != nullptr; --count, --count_) {
      Node* const next = first_->next;
      const auto* bytes = reinterpret_cast<unsigned char*>(first_);
      for (std::size_t i = sizeof(Node); i < size_; ++i) CHECK(bytes[i] == (size_ & 0xff));
      std::free(first_);
      first_ = next;
    }
  }

  std::size_t count() const { return count_; }

 private:
  struct Node {
    Node* next;
  };
  Node* first_ = nullptr;
  std::size_t size_ = 0;
  std::size_t count_ = 0;
};

}  // namespace life

// SPDX-License-Identifier: Apache-2.0
// The accessors of concurrent_hash_map. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_MAP_ACCESS_HPP
#define CORBEL_DETAIL_HASH_MAP_ACCESS_HPP

#include <cstdint>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {

class spin_rw_mutex;

template <typename Key, typename T, typename HashCompare, typename Allocator,
          typename Mutex = spin_rw_mutex>
class concurrent_hash_map;

namespace detail {

// const_accessor. One thread at a time may use an object; it may be destroyed by another thread
// than the one that found the element.
template <typename Core>
class hash_map_const_access {
  using node = typename Core::node;

 public:
  using value_type = const typename Core::value_type;
  using reference = value_type&;
  using pointer = value_type*;

  // Points to no element.
  hash_map_const_access() noexcept : node_(nullptr), core_(nullptr), holder_(0) {}
  // Releases the element, if it points to one.
  ~hash_map_const_access() { release(); }
  hash_map_const_access(const hash_map_const_access&) = delete;
  hash_map_const_access& operator=(const hash_map_const_access&) = delete;

  // Whether it points to no element.
  bool empty() const noexcept { return node_ == nullptr; }

  // Lets other threads get the element, if it points to one; then it points to none. Destroys an
  // element that was erased meanwhile and that no other accessor points to.
  void release() noexcept {
    node* const held = node_;
    if (held == nullptr) return;
    node_ = nullptr;
    core_->leave(held, holder_);
  }

  // The element. The object must point to one (checked with CORBEL_USE_ASSERT).
  reference operator*() const noexcept { return *operator->(); }
  pointer operator->() const noexcept {
    CORBEL_ASSERT(node_ != nullptr, "an accessor without an element is used");
    return node_->address();
  }

 protected:
  template <std::uint32_t kHolder, typename K>
  bool find_as(Core& core, const K& key) {
    release();
    point_to(core, core.template find<kHolder>(key), kHolder);
    return node_ != nullptr;
  }
  // Inserts a value from the arguments, which it constructs only if there is no element with `key`.
  template <std::uint32_t kHolder, typename K, typename... Arguments>
  bool insert_as(Core& core, const K& key, Arguments&&... arguments) {
    release();
    typename Core::owner made(core.source(), kHolder);
    node* in = nullptr;
    const bool inserted = core.template insert<kHolder>(
        key, made, in, [&] { made.make(std::forward<Arguments>(arguments)...); });
    point_to(core, in, kHolder);
    return inserted;
  }
  template <std::uint32_t kHolder, typename... Arguments>
  bool emplace_as(Core& core, Arguments&&... arguments) {
    release();
    typename Core::owner made(core.source(), kHolder);
    node* in = nullptr;
    const auto& key = made.make(std::forward<Arguments>(arguments)...).value().first;
    const bool inserted = core.template insert<kHolder>(key, made, in, [] {});
    point_to(core, in, kHolder);
    return inserted;
  }

  node* held() const noexcept { return node_; }

 private:
  template <typename Key, typename T, typename HashCompare, typename Allocator, typename Mutex>
  friend class corbel::concurrent_hash_map;

  template <typename K>
  bool find(Core& core, const K& key) {
    return this->template find_as<Core::kReader>(core, key);
  }
  template <typename K, typename... Arguments>
  bool insert(Core& core, const K& key, Arguments&&... arguments) {
    return this->template insert_as<Core::kReader>(core, key,
                                                   std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  bool emplace(Core& core, Arguments&&... arguments) {
    return this->template emplace_as<Core::kReader>(core, std::forward<Arguments>(arguments)...);
  }

  bool erase() {
    CORBEL_ASSERT(node_ != nullptr, "an accessor without an element is used");
    node* const held = node_;
    node_ = nullptr;
    return core_->erase(held, holder_);
  }

  void point_to(Core& core, node* held, std::uint32_t holder) noexcept {
    node_ = held;
    core_ = &core;
    holder_ = holder;
  }

  node* node_;
  Core* core_;
  std::uint32_t holder_;  // as what it is inside the element's lock
};

// accessor.
template <typename Core>
class hash_map_access : public hash_map_const_access<Core> {
 public:
  using value_type = typename Core::value_type;
  using reference = value_type&;
  using pointer = value_type*;

  // The element. The object must point to one (checked with CORBEL_USE_ASSERT).
  reference operator*() const noexcept { return *operator->(); }
  pointer operator->() const noexcept {
    CORBEL_ASSERT(this->held() != nullptr, "an accessor without an element is used");
    return this->held()->address();
  }

 private:
  template <typename Key, typename T, typename HashCompare, typename Allocator, typename Mutex>
  friend class corbel::concurrent_hash_map;

  template <typename K>
  bool find(Core& core, const K& key) {
    return this->template find_as<Core::kWriter>(core, key);
  }
  template <typename K, typename... Arguments>
  bool insert(Core& core, const K& key, Arguments&&... arguments) {
    return this->template insert_as<Core::kWriter>(core, key,
                                                   std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  bool emplace(Core& core, Arguments&&... arguments) {
    return this->template emplace_as<Core::kWriter>(core, std::forward<Arguments>(arguments)...);
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_MAP_ACCESS_HPP

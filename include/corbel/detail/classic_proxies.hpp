// SPDX-License-Identifier: Apache-2.0
// What the allocate functions of corbel::task return: `new` with one of them takes the memory for a
// task, and gives it back when the constructor throws. Not for programs to include.
#ifndef CORBEL_DETAIL_CLASSIC_PROXIES_HPP
#define CORBEL_DETAIL_CLASSIC_PROXIES_HPP

#include <cstddef>

#include <corbel/detail/classic_record.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace detail {

// What is known of a record by where its object lies.
inline classic_record* record_before(void* object) {
  return static_cast<classic_record*>(object) - 1;
}

struct allocate_root_proxy {
  void* allocate(std::size_t bytes) const {
    worker& w = current_worker();
    classic_record* const r = allocate_record(w, bytes, nullptr, 0, nullptr);
    set_root_context(w, *r);
    return r + 1;
  }
  void take_back(void* object) const noexcept {
    deallocate_record(current_worker(), record_before(object));
  }
};

struct allocate_root_in_proxy {
  task_group_context& group;

  void* allocate(std::size_t bytes) const {
    return allocate_record(current_worker(), bytes, &context_access::node(group), marks_of(group),
                           nullptr) +
           1;
  }
  void take_back(void* object) const noexcept {
    deallocate_record(current_worker(), record_before(object));
  }
};

struct allocate_continuation_proxy {
  classic_record& before;

  void* allocate(std::size_t bytes) const {
    classic_record* const r = allocate_relative(current_worker(), bytes, before, before.parent);
    before.parent = nullptr;
    return r + 1;
  }
  void take_back(void* object) const noexcept {
    before.parent = record_before(object)->parent;
    deallocate_record(current_worker(), record_before(object));
  }
};

struct allocate_child_proxy {
  classic_record& parent;

  void* allocate(std::size_t bytes) const {
    return allocate_relative(current_worker(), bytes, parent, &parent) + 1;
  }
  void take_back(void* object) const noexcept {
    deallocate_record(current_worker(), record_before(object));
  }
};

struct allocate_additional_child_proxy {
  classic_record& parent;

  void* allocate(std::size_t bytes) const {
    classic_record* const r = allocate_relative(current_worker(), bytes, parent, &parent);
    // relaxed: as task::increment_ref_count
    parent.count.fetch_add(1, std::memory_order_relaxed);
    return r + 1;
  }
  void take_back(void* object) const noexcept {
    worker& w = current_worker();
    deallocate_record(w, record_before(object));
    parent.remove_references(w, 1);
  }
};

}  // namespace detail
}  // namespace corbel

// In no namespace, since that is where `new` looks besides the class; in the class they would hide
// the other forms of new.
inline void* operator new(std::size_t bytes, const corbel::detail::allocate_root_proxy& p) {
  return p.allocate(bytes);
}
inline void operator delete(void* object, const corbel::detail::allocate_root_proxy& p) noexcept {
  p.take_back(object);
}
inline void* operator new(std::size_t bytes, const corbel::detail::allocate_root_in_proxy& p) {
  return p.allocate(bytes);
}
inline void operator delete(void* object,
                            const corbel::detail::allocate_root_in_proxy& p) noexcept {
  p.take_back(object);
}
inline void* operator new(std::size_t bytes, const corbel::detail::allocate_continuation_proxy& p) {
  return p.allocate(bytes);
}
inline void operator delete(void* object,
                            const corbel::detail::allocate_continuation_proxy& p) noexcept {
  p.take_back(object);
}
inline void* operator new(std::size_t bytes, const corbel::detail::allocate_child_proxy& p) {
  return p.allocate(bytes);
}
inline void operator delete(void* object, const corbel::detail::allocate_child_proxy& p) noexcept {
  p.take_back(object);
}
inline void* operator new(std::size_t bytes,
                          const corbel::detail::allocate_additional_child_proxy& p) {
  return p.allocate(bytes);
}
inline void operator delete(void* object,
                            const corbel::detail::allocate_additional_child_proxy& p) noexcept {
  p.take_back(object);
}

#endif  // CORBEL_DETAIL_CLASSIC_PROXIES_HPP

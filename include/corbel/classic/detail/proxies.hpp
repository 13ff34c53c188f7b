// SPDX-License-Identifier: Apache-2.0
// The proxies that the allocate functions of corbel::task return. `new` with a proxy allocates the
// memory of a task, and frees it if the constructor throws. Not for programs to include.
#ifndef CORBEL_CLASSIC_DETAIL_PROXIES_HPP
#define CORBEL_CLASSIC_DETAIL_PROXIES_HPP

#include <cstddef>

#include <corbel/classic/detail/record.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace detail {

// Returns the record of the task at `object`.
inline classic_record* record_before(void* object) {
  return static_cast<classic_record*>(object) - 1;
}

struct allocate_root_proxy {
  void* allocate(std::size_t bytes) const {
    thread_data& thread = current_thread();
    classic_record* const r = allocate_record(thread, bytes, nullptr, 0, nullptr);
    set_root_context(thread, *r);
    return r + 1;
  }
  void take_back(void* object) const noexcept {
    deallocate_record(current_thread(), record_before(object));
  }
};

struct allocate_root_in_proxy {
  task_group_context& group;

  void* allocate(std::size_t bytes) const {
    return allocate_record(current_thread(), bytes, &context_access::node(group), flags_of(group),
                           nullptr) +
           1;
  }
  void take_back(void* object) const noexcept {
    deallocate_record(current_thread(), record_before(object));
  }
};

struct allocate_continuation_proxy {
  classic_record& before;

  void* allocate(std::size_t bytes) const {
    classic_record* const r = allocate_relative(current_thread(), bytes, before, before.parent);
    before.parent = nullptr;
    return r + 1;
  }
  void take_back(void* object) const noexcept {
    before.parent = record_before(object)->parent;
    deallocate_record(current_thread(), record_before(object));
  }
};

struct allocate_child_proxy {
  classic_record& parent;

  void* allocate(std::size_t bytes) const {
    return allocate_relative(current_thread(), bytes, parent, &parent) + 1;
  }
  void take_back(void* object) const noexcept {
    deallocate_record(current_thread(), record_before(object));
  }
};

struct allocate_additional_child_proxy {
  classic_record& parent;

  void* allocate(std::size_t bytes) const {
    classic_record* const r = allocate_relative(current_thread(), bytes, parent, &parent);
    // relaxed: the caller already owns a reference, as in add_references
    parent.count.fetch_add(1, std::memory_order_relaxed);
    return r + 1;
  }
  void take_back(void* object) const noexcept {
    thread_data& thread = current_thread();
    deallocate_record(thread, record_before(object));
    parent.remove_references(thread, 1);
  }
};

}  // namespace detail
}  // namespace corbel

// In the global namespace: `new` looks for operators only in the class and there, and in the class
// they would hide the other forms of new.
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

#endif  // CORBEL_CLASSIC_DETAIL_PROXIES_HPP

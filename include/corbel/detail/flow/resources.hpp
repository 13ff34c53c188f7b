// SPDX-License-Identifier: Apache-2.0
// Requests for resources, and how they are granted. Not for programs to include.
//
// A request names one or several pools, and gets a resource of each of them at once. While it
// waits, it has a ticket in the queue of each pool. It is granted when each of its tickets is so
// near to the front that the pool has a resource for it and for all tickets before it. So the
// oldest request of all is at the front of all its queues, and is granted once the resources have
// been returned: no request starves, and there is no deadlock. A request that comes first on one
// pool, but not yet on another, keeps its claim.
//
// Granting takes away one resource and one ticket of each pool; it makes no other request
// grantable. Only returned resources do, so only the queues of their pools are searched then.
#ifndef CORBEL_DETAIL_FLOW_RESOURCES_HPP
#define CORBEL_DETAIL_FLOW_RESOURCES_HPP

#include <cstddef>
#include <utility>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/flow/pointer_list.hpp>

namespace corbel {
namespace detail {

struct resource_base {
  resource_base* next = nullptr;
  virtual ~resource_base() {}
};
template <typename Handle>
struct resource : resource_base {
  Handle handle;
  template <typename... Arguments>
  explicit resource(Arguments&&... arguments) : handle(std::forward<Arguments>(arguments)...) {}
};

// All pools share one lock, which is held for a few instructions: a request may concern any of
// them.
template <typename T = void>
struct CORBEL_EXPORT_TYPE resource_lock {
  static spinning_mutex mutex;
};
template <typename T>
spinning_mutex resource_lock<T>::mutex;

class resource_pool;
class resource_request;

// The part of a request that concerns one pool.
struct resource_ticket {
  resource_request* request = nullptr;
  resource_pool* pool = nullptr;
  resource_ticket* next = nullptr;  // in the pool's queue
  resource_base* granted = nullptr;
};

class resource_request {
 public:
  // The tickets name the request and its pools before it is used.
  resource_request(resource_ticket* tickets, std::size_t count)
      : tickets_(tickets), count_(count) {}
  virtual ~resource_request() {}

  // Returns whether the request has been granted. If not, granted() is called once it is, by
  // another thread.
  bool acquire();
  // Returns the resources, and calls granted() of the requests that get them.
  void release();

 protected:
  virtual void granted() noexcept = 0;

 private:
  // Under the lock:
  bool is_grantable() const;
  void take_resources();

  resource_ticket* const tickets_;
  const std::size_t count_;
  resource_request* next_granted_ = nullptr;
};

// The resources that are not in use, and the queue of tickets. All but the constructors and the
// destructor are called under the lock.
class resource_pool {
 public:
  resource_pool() = default;
  resource_pool(resource_pool&& other) noexcept
      : free_(other.free_), free_count_(other.free_count_) {
    other.free_ = nullptr;
    other.free_count_ = 0;
  }
  // No request uses the pool.
  ~resource_pool() {
    while (resource_base* const r = free_) {
      free_ = r->next;
      delete r;
    }
  }

  void add(resource_base* r) {
    r->next = free_;
    free_ = r;
    ++free_count_;
  }
  resource_base* take() {
    resource_base* const r = free_;
    free_ = r->next;
    --free_count_;
    return r;
  }

  void append(resource_ticket& t) {
    t.next = nullptr;
    *end_ = &t;
    end_ = &t.next;
  }
  void remove(resource_ticket& t) {
    resource_ticket** at = &first_;
    while (*at != &t) at = &(*at)->next;
    *at = t.next;
    if (end_ == &t.next) end_ = at;
  }
  // Whether there is a resource for this ticket and for all before it.
  bool has_resource_for(const resource_ticket& t) const {
    std::size_t needed = 1;
    const resource_ticket* at = first_;
    for (; at != &t && needed <= free_count_; at = at->next) ++needed;
    return needed <= free_count_;
  }
  // Returns the ticket at this place in the queue; nullptr if there is none, or no resource for it.
  resource_ticket* at(std::size_t place) const {
    if (place >= free_count_) return nullptr;
    resource_ticket* t = first_;
    for (; t != nullptr && place != 0; --place) t = t->next;
    return t;
  }

 private:
  resource_base* free_ = nullptr;
  std::size_t free_count_ = 0;
  resource_ticket* first_ = nullptr;
  resource_ticket** end_ = &first_;
};

struct resource_access {
  template <typename Limiter>
  static resource_pool& pool(Limiter& limiter) {
    return limiter.pool_;
  }
};

inline bool resource_request::is_grantable() const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!tickets_[i].pool->has_resource_for(tickets_[i])) return false;
  }
  return true;
}

inline void resource_request::take_resources() {
  for (std::size_t i = 0; i < count_; ++i) {
    tickets_[i].pool->remove(tickets_[i]);
    tickets_[i].granted = tickets_[i].pool->take();
  }
}

inline bool resource_request::acquire() {
  const flow_lock lock(resource_lock<>::mutex);
  for (std::size_t i = 0; i < count_; ++i) tickets_[i].pool->append(tickets_[i]);
  if (!is_grantable()) return false;
  take_resources();
  return true;
}

inline void resource_request::release() {
  resource_request* granted = nullptr;
  {
    const flow_lock lock(resource_lock<>::mutex);
    for (std::size_t i = 0; i < count_; ++i) tickets_[i].pool->add(tickets_[i].granted);
    resource_request** end = &granted;
    for (std::size_t i = 0; i < count_; ++i) {
      std::size_t place = 0;
      while (resource_ticket* const t = tickets_[i].pool->at(place)) {
        resource_request& request = *t->request;
        if (!request.is_grantable()) {
          ++place;
          continue;
        }
        request.take_resources();
        request.next_granted_ = nullptr;
        *end = &request;
        end = &request.next_granted_;
      }
    }
  }
  while (granted != nullptr) {
    resource_request* const request = granted;
    granted = request->next_granted_;
    request->granted();
  }
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_RESOURCES_HPP

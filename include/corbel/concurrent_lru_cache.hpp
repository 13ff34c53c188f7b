// SPDX-License-Identifier: Apache-2.0
// A cache of values that are made from keys. C++11 and later. Follows the oneTBB preview of the
// same name, and TBB 2020.
#ifndef CORBEL_CONCURRENT_LRU_CACHE_HPP
#define CORBEL_CONCURRENT_LRU_CACHE_HPP

#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/manual_lifetime.hpp>

namespace corbel {

// Maps keys to values, each of which is made by a function when it is first asked for. While a
// handle refers to a value, the value stays. Values without a handle stay, too, up to a number: the
// ones whose last handle was released longest ago go first. Keys are compared with <.
//
// Any thread may call operator[] at any time, and release handles.
template <typename Key, typename Value, typename ValueFunction = Value (*)(Key)>
class concurrent_lru_cache {
  struct item;

 public:
  using key_type = Key;
  using value_type = Value;
  using pointer = value_type*;
  using reference = value_type&;
  using const_pointer = const value_type*;
  using const_reference = const value_type&;
  using value_function_type = ValueFunction;

  // Refers to a value, or to none. One thread at a time may use an object, and no handle may
  // outlive its cache.
  class handle_object {
   public:
    // Refers to no value.
    handle_object() noexcept = default;
    // Takes the reference of `other`, which refers to no value afterwards.
    handle_object(handle_object&& other) noexcept : cache_(other.cache_), item_(other.item_) {
      other.item_ = nullptr;
    }
    handle_object& operator=(handle_object&& other) noexcept {
      if (this != &other) {
        release();
        cache_ = other.cache_;
        item_ = other.item_;
        other.item_ = nullptr;
      }
      return *this;
    }
    handle_object(const handle_object&) = delete;
    handle_object& operator=(const handle_object&) = delete;
    // Releases the value. May destroy values that the cache has no room for.
    ~handle_object() { release(); }

    // Returns whether it refers to a value.
    explicit operator bool() const noexcept { return item_ != nullptr; }

    // Returns the value, which it must refer to. Threads with handles of the same key get the same
    // object, and must not change it without a lock.
    value_type& value() const {
      CORBEL_ASSERT(item_ != nullptr, "the handle refers to no value");
      return item_->value.get();
    }

   private:
    friend class concurrent_lru_cache;
    handle_object(concurrent_lru_cache& cache, item& referred) noexcept
        : cache_(&cache), item_(&referred) {}

    void release() noexcept {
      if (item_ != nullptr) cache_->release(*item_);
      item_ = nullptr;
    }

    concurrent_lru_cache* cache_ = nullptr;
    item* item_ = nullptr;
  };
  using handle = handle_object;

  // Makes an empty cache that makes values by calling make(key), and keeps at most `unused` values
  // that no handle refers to.
  concurrent_lru_cache(value_function_type make, std::size_t unused)
      : make_(std::move(make)), max_unused_(unused) {}

  concurrent_lru_cache(const concurrent_lru_cache&) = delete;
  concurrent_lru_cache& operator=(const concurrent_lru_cache&) = delete;

  // Returns a handle of the key's value, which is made in the calling thread if it is not there.
  // Other threads that ask for the key meanwhile wait; other keys are not affected. The function
  // must not ask for its own key. Throws what the function and copying the key throw, and
  // bad_alloc; a thread that has waited then calls the function itself.
  handle_object operator[](key_type key) {
    std::unique_lock<std::mutex> lock(mutex_);
    item& found = item_of(key);
    ++found.users;  // keeps the item
    while (found.state == item::kBeingMade) changed_.wait(lock);
    if (found.state == item::kEmpty) {
      making scope(*this, lock, found);
      found.value.make(make_(found.place->first));
      scope.succeeded = true;
    }
    return handle_object(*this, found);
  }

 private:
  using items = std::map<key_type, std::unique_ptr<item>>;

  // Protected by the mutex, except the value, which is constant once it is made.
  struct item {
    enum state_type { kEmpty, kBeingMade, kMade };

    ~item() {
      if (state == kMade) value.destroy();
    }

    state_type state = kEmpty;
    std::size_t users = 0;  // handles, and threads that are about to get one
    typename items::iterator place;
    typename std::list<item*>::iterator position;  // in unused_; else in `as_unused`
    std::list<item*> as_unused;                    // what unused_ takes: releasing needs no memory
    detail::manual_lifetime<value_type> value;
  };

  // The call of the function, during which the cache is not locked.
  struct making {
    making(concurrent_lru_cache& cache, std::unique_lock<std::mutex>& lock, item& made)
        : cache_(cache), lock_(lock), item_(made) {
      item_.state = item::kBeingMade;
      lock_.unlock();
    }
    ~making() {
      lock_.lock();
      item_.state = succeeded ? item::kMade : item::kEmpty;
      cache_.changed_.notify_all();
      if (!succeeded && --item_.users == 0) cache_.items_.erase(item_.place);
    }

    bool succeeded = false;

   private:
    concurrent_lru_cache& cache_;
    std::unique_lock<std::mutex>& lock_;
    item& item_;
  };

  // Returns the key's item, which is none of the unused ones afterwards.
  item& item_of(const key_type& key) {
    typename items::iterator place = items_.find(key);
    if (place == items_.end()) {
      std::unique_ptr<item> made(new item);
      made->as_unused.push_back(made.get());
      made->position = made->as_unused.begin();
      place = items_.emplace(key, std::move(made)).first;
      place->second->place = place;
    }
    item& found = *place->second;
    if (found.as_unused.empty()) {
      found.as_unused.splice(found.as_unused.begin(), unused_, found.position);
    }
    return found;
  }

  void release(item& released) noexcept {
    std::unique_ptr<item> dropped;  // destroyed after the lock is released: it is the program's
    std::lock_guard<std::mutex> lock(mutex_);
    if (--released.users != 0) return;
    unused_.splice(unused_.begin(), released.as_unused, released.position);
    if (unused_.size() <= max_unused_) return;
    const typename items::iterator oldest = unused_.back()->place;
    dropped = std::move(oldest->second);
    unused_.pop_back();
    items_.erase(oldest);
  }

  value_function_type make_;
  const std::size_t max_unused_;
  std::mutex mutex_;
  std::condition_variable changed_;  // an item has been made, or the function has thrown
  items items_;
  std::list<item*> unused_;  // the latest in front
};

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_LRU_CACHE_HPP

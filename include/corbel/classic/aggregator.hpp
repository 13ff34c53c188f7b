// SPDX-License-Identifier: Apache-2.0
// aggregator and aggregator_ext of TBB 2020: mutual exclusion by combining. Of the threads that
// want to work on an object at the same time, one does the work of all. C++11 and later.
#ifndef CORBEL_CLASSIC_AGGREGATOR_HPP
#define CORBEL_CLASSIC_AGGREGATOR_HPP

#include <exception>
#include <utility>

#include <corbel/detail/aggregator.hpp>
#include <corbel/detail/config.hpp>

namespace corbel {

template <typename Handler>
class aggregator_ext;

// The base class of the operations that a program passes to an aggregator_ext. The functions are
// for handlers.
class aggregator_operation : private detail::aggregator::operation {
  template <typename>
  friend class aggregator_ext;

 public:
  enum aggregator_operation_status { agg_waiting = 0, agg_finished };

  aggregator_operation() = default;

  // Called before the handler works on the operation. Has no effect.
  void start() noexcept {}

  // Lets the thread that passed the operation continue. The object may be gone when it returns:
  // the handler must have called next() before.
  void finish() noexcept { operation::finish(); }

  // Returns the next operation of the list; nullptr for the last one.
  aggregator_operation* next() const noexcept {
    return static_cast<aggregator_operation*>(operation::next());
  }

  // Changes what next() returns.
  void set_next(aggregator_operation* n) noexcept { next_ = n; }
};

// Passes operations to a handler of the program, called as handler(list), list being an
// aggregator_operation*. The handler calls start(), does the work and calls finish() for each
// operation of the list, which ends where next() returns nullptr. It must not throw, nor pass an
// operation to the same object.
//
// Any thread may call process at any time, but the object must outlive all calls.
template <typename Handler>
class aggregator_ext {
 public:
  // Copies the handler.
  explicit aggregator_ext(const Handler& handler) : handler_(handler) {}
  aggregator_ext(const aggregator_ext&) = delete;
  aggregator_ext& operator=(const aggregator_ext&) = delete;

  // Returns after the operation is finished. The calling thread may call the handler for
  // operations of other threads, too, but only one thread at a time calls it.
  void process(aggregator_operation* op) {
    const list_handler handle{handler_};
    combiner_.execute(*op, handle);
  }

 private:
  struct list_handler {
    Handler& handler;
    void operator()(detail::aggregator::operation* list) const {
      handler(static_cast<aggregator_operation*>(list));
    }
  };

  detail::aggregator combiner_;
  Handler handler_;
};

// Calls functions, one at a time.
class aggregator {
 public:
  aggregator() = default;
  aggregator(const aggregator&) = delete;
  aggregator& operator=(const aggregator&) = delete;

  // Has this thread or another call a copy of `body`, as body(), and returns after it. No two
  // bodies that are passed to the same object run at the same time. A body sees what the earlier
  // ones did. Throws what the body throws. A body must not call execute of the same object. Any
  // thread may call it.
  template <typename Body>
  void execute(Body body) {
    call_of<Body> op(body);
    combiner_.execute(op, call_all());
#if CORBEL_EXCEPTIONS
    if (op.error) std::rethrow_exception(std::move(op.error));
#endif
  }

 private:
  struct any_call : detail::aggregator::operation {
    explicit any_call(void (*f)(any_call&)) : function(f) {}
    void (*const function)(any_call&);
    std::exception_ptr error;
  };

  template <typename Body>
  struct call_of : any_call {
    explicit call_of(Body& b) : any_call(&call), body(b) {}
    static void call(any_call& self) { static_cast<call_of&>(self).body(); }
    Body& body;
  };

  struct call_all {
    void operator()(detail::aggregator::operation* list) const {
      while (list != nullptr) {
        any_call& op = static_cast<any_call&>(*list);
        list = list->next();
#if CORBEL_EXCEPTIONS
        try {
          op.function(op);
        } catch (...) {
          op.error = std::current_exception();
        }
#else
        op.function(op);
#endif
        op.finish();
      }
    }
  };

  detail::aggregator combiner_;
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_AGGREGATOR_HPP

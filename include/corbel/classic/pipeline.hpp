// SPDX-License-Identifier: Apache-2.0
// The pipelines of TBB 2020, whose filters are objects that pass pointers to each other. C++11 and
// later. New programs use <corbel/parallel_pipeline.hpp>. A source file that includes
// <tbb/pipeline.h> must not include <tbb/parallel_pipeline.h>, whose tbb::filter is a different
// class.
#ifndef CORBEL_CLASSIC_PIPELINE_HPP
#define CORBEL_CLASSIC_PIPELINE_HPP

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include <corbel/detail/outside_slot.hpp>
#include <corbel/detail/pipeline.hpp>
#include <corbel/parallel_pipeline.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace classic {

class pipeline;

// The filter of parallel_pipeline.
template <typename Input, typename Output>
using filter_t = corbel::filter<Input, Output>;

// The base class of a program's filters. A filter is in at most one pipeline at a time.
class filter {
 public:
  using mode = filter_mode;
  static constexpr mode parallel = filter_mode::parallel;
  static constexpr mode serial_in_order = filter_mode::serial_in_order;
  static constexpr mode serial_out_of_order = filter_mode::serial_out_of_order;
  static constexpr mode serial = filter_mode::serial_in_order;

  // Removes the filter from its pipeline, which must not be running.
  virtual ~filter();
  filter(const filter&) = delete;
  filter& operator=(const filter&) = delete;

  // Processes an item and returns the item for the next filter. The first filter gets nullptr, and
  // returns nullptr when there are no more items. The result of the last filter is ignored. Several
  // threads may call it at the same time if the mode is parallel. An exception stops the pipeline.
  virtual void* operator()(void* item) = 0;

  // Called instead of operator() for each item but nullptr that waits for this filter when the
  // pipeline is cancelled or a filter throws. Must not throw.
  virtual void finalize(void* item) { static_cast<void>(item); }

  // Return whether the mode is one of the serial ones, and whether it is serial_in_order.
  bool is_serial() const { return mode_ != filter_mode::parallel; }
  bool is_ordered() const { return mode_ == filter_mode::serial_in_order; }

 protected:
  explicit filter(mode filter_mode) : mode_(filter_mode) {}
  explicit filter(bool is_serial) : mode_(is_serial ? serial_in_order : parallel) {}

 private:
  friend class pipeline;
  friend class thread_bound_filter;
  const mode mode_;
  detail::outside_slot* outside_ = nullptr;  // of a thread_bound_filter
  pipeline* owner_ = nullptr;
};

// The base class of filters that one thread of the program calls: not the threads that run the
// pipeline, but one that calls process_item or try_process_item until they return end_of_stream. It
// may serve several filters. Another thread calls run of the pipeline, which returns after all
// items have been processed. The mode must be a serial one.
//
// An exception of operator() stops the pipeline and is thrown by run, not here.
class thread_bound_filter : public filter {
 public:
  enum result_type {
    success,             // an item has been processed
    item_not_available,  // no item is ready for this filter, but one may come
    end_of_stream        // no item will come: the run has ended, or this first filter has ended it
  };

  // Processes an item if one is ready.
  result_type try_process_item() { return process(false); }

  // Waits until an item is ready and processes it, or until there will be none. If the pipeline
  // does not run yet, waits for that, too. After a run returns end_of_stream until the next one
  // begins.
  result_type process_item() { return process(true); }

 protected:
  explicit thread_bound_filter(mode filter_mode) : filter(filter_mode) {
    CORBEL_ASSERT(is_serial(), "a thread_bound_filter is serial");
    outside_ = &slot_;
  }

 private:
  result_type process(bool waits) {
    const detail::outside_slot::found found = slot_.take(waits);
    if (found.taken == nullptr) return found.is_closed ? end_of_stream : item_not_available;
    return found.call->run_outside(*found.taken) ? success : end_of_stream;
  }

  detail::outside_slot slot_;
};

// A chain of filters. No function may be called while it runs; one thread at a time may call them.
class pipeline {
 public:
  pipeline() = default;
  // Removes the filters from the pipeline.
  virtual ~pipeline() { remove_all(); }
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  // Appends a filter, which must be in no pipeline and is not copied. Throws bad_alloc.
  void add_filter(filter& f) {
    CORBEL_ASSERT(f.owner_ == nullptr, "a filter is in one pipeline only");
    filters_.push_back(&f);
    f.owner_ = this;
  }

  // Removes all filters.
  void clear() { remove_all(); }

  // Calls the first filter until it returns nullptr, and passes each item through the other
  // filters, at most `max_number_of_live_tokens` items at a time. If a filter throws, no further
  // filter is called, the items in the pipeline are finalized, and the exception is thrown here.
  // Throws bad_alloc. Must not be called by a thread that serves a thread_bound_filter of it.
  void run(std::size_t max_number_of_live_tokens) {
    const slots_end end{filters_};
    detail::call_in_group([&](detail::thread_data& thread, detail::context_node& group) {
      run_in(thread, group, max_number_of_live_tokens);
    });
  }
  // Like run above, in the context `context`: an exception cancels it, and cancelling it stops the
  // pipeline.
  void run(std::size_t max_number_of_live_tokens, task_group_context& context) {
    const slots_end end{filters_};
    detail::call_in_group(context, [&](detail::thread_data& thread, detail::context_node& group) {
      run_in(thread, group, max_number_of_live_tokens);
    });
  }

 private:
  friend class filter;

  class stage : public detail::pipeline_stage {
   public:
    stage(filter& f, bool is_first)
        : pipeline_stage(sizeof(void*), alignof(void*), f.is_serial(), f.is_ordered(), f.outside_),
          filter_(f),
          is_first_(is_first) {}

    bool run(void* in, void* out) const override {
      void* const item = filter_(is_first_ ? nullptr : *static_cast<void**>(in));
      *static_cast<void**>(out) = item;
      return !is_first_ || item != nullptr;
    }
    void drop(void* in) const noexcept override {
      void* const item = *static_cast<void**>(in);
      if (item != nullptr) filter_.finalize(item);
    }

   private:
    filter& filter_;
    const bool is_first_;
  };

  // Ends the waits for items when run returns or throws, even if the pipeline could not begin.
  struct slots_end {
    const std::vector<filter*>& filters;
    ~slots_end() {
      for (filter* const f : filters) {
        if (f->outside_ != nullptr) f->outside_->close();
      }
    }
  };

  void run_in(detail::thread_data& thread, detail::context_node& group, std::size_t max_tokens) {
    if (filters_.empty()) return;
    std::vector<std::unique_ptr<stage>> stages;
    detail::stage_list list;
    stages.reserve(filters_.size());  // so that emplace_back does not throw
    list.reserve(filters_.size());
    for (filter* const f : filters_) {
      stages.emplace_back(new stage(*f, stages.empty()));
      list.push_back(stages.back().get());
    }
    detail::pipeline_call(group, list, max_tokens).run(thread);
  }

  void remove_all() {
    for (filter* const f : filters_) f->owner_ = nullptr;
    filters_.clear();
  }

  std::vector<filter*> filters_;
};

inline filter::~filter() {
  if (owner_ == nullptr) return;
  std::vector<filter*>& all = owner_->filters_;
  all.erase(std::remove(all.begin(), all.end(), this), all.end());
}

}  // namespace classic
}  // namespace corbel

#endif  // CORBEL_CLASSIC_PIPELINE_HPP

// SPDX-License-Identifier: Apache-2.0
// The pipelines of classic TBB, whose filters are objects that pass pointers on. C++11 upwards. New
// programs use <corbel/parallel_pipeline.hpp>; a file that includes <tbb/pipeline.h> must not
// include <tbb/parallel_pipeline.h>, whose tbb::filter is another class.
#ifndef CORBEL_PIPELINE_HPP
#define CORBEL_PIPELINE_HPP

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include <corbel/detail/pipeline.hpp>
#include <corbel/parallel_pipeline.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace classic {

class pipeline;

// A filter of parallel_pipeline.
template <typename Input, typename Output>
using filter_t = corbel::filter<Input, Output>;

// A step of a pipeline; a program derives its own from it. In one pipeline at a time.
class filter {
 public:
  using mode = filter_mode;
  static constexpr mode parallel = filter_mode::parallel;
  static constexpr mode serial_in_order = filter_mode::serial_in_order;
  static constexpr mode serial_out_of_order = filter_mode::serial_out_of_order;
  static constexpr mode serial = filter_mode::serial_in_order;

  // Leaves its pipeline, which must not run.
  virtual ~filter();
  filter(const filter&) = delete;
  filter& operator=(const filter&) = delete;

  // Does something with an item and returns what the next filter gets. The first filter gets
  // nullptr and returns nullptr when there are no more items; what the last one returns is dropped.
  virtual void* operator()(void* item) = 0;

  // Called for an item that this filter does not get any more, because the pipeline was cancelled
  // or a filter threw. Must not throw.
  virtual void finalize(void* item) { static_cast<void>(item); }

  bool is_serial() const { return mode_ != filter_mode::parallel; }
  bool is_ordered() const { return mode_ == filter_mode::serial_in_order; }

 protected:
  explicit filter(mode filter_mode) : mode_(filter_mode) {}
  explicit filter(bool is_serial) : mode_(is_serial ? serial_in_order : parallel) {}

 private:
  friend class pipeline;
  const mode mode_;
  pipeline* owner_ = nullptr;
};

// A row of filters. Its functions must not be called while it runs.
class pipeline {
 public:
  pipeline() = default;
  // The filters are in no pipeline then.
  virtual ~pipeline() { remove_all(); }
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  // Puts a filter at the end. It must be in no pipeline, and is not copied.
  void add_filter(filter& f) {
    CORBEL_ASSERT(f.owner_ == nullptr, "a filter is in one pipeline only");
    filters_.push_back(&f);
    f.owner_ = this;
  }

  // Takes all filters out.
  void clear() { remove_all(); }

  // Calls the first filter until it returns nullptr and passes each item through the others, no
  // more than `max_number_of_live_tokens` at a time. If a filter throws, no more are called, items
  // on their way are finalized, and the exception is thrown here.
  void run(std::size_t max_number_of_live_tokens) {
    detail::call_in_group([&](detail::worker& w, detail::context_node& group) {
      run_in(w, group, max_number_of_live_tokens);
    });
  }
  // The same in a context of the program's.
  void run(std::size_t max_number_of_live_tokens, task_group_context& context) {
    detail::call_in_group(context, [&](detail::worker& w, detail::context_node& group) {
      run_in(w, group, max_number_of_live_tokens);
    });
  }

 private:
  friend class filter;

  class stage : public detail::pipeline_stage {
   public:
    stage(filter& f, bool is_first)
        : pipeline_stage(sizeof(void*), alignof(void*), f.is_serial(), f.is_ordered()),
          filter_(f),
          is_first_(is_first) {}

    bool run(void* in, void* out) const override {
      void* const item = filter_(is_first_ ? nullptr : *static_cast<void**>(in));
      *static_cast<void**>(out) = item;
      return !is_first_ || item != nullptr;
    }
    void drop(void* in) const noexcept override { filter_.finalize(*static_cast<void**>(in)); }

   private:
    filter& filter_;
    const bool is_first_;
  };

  void run_in(detail::worker& w, detail::context_node& group, std::size_t most_tokens) {
    if (filters_.empty()) return;
    std::vector<std::unique_ptr<stage>> stages;
    detail::stage_list list;
    for (filter* const f : filters_) {
      stages.emplace_back(new stage(*f, stages.empty()));
      list.push_back(stages.back().get());
    }
    detail::pipeline_call(group, list, most_tokens).run(w);
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

#endif  // CORBEL_PIPELINE_HPP

// SPDX-License-Identifier: Apache-2.0
// Pipelines: the program's filters, run by Corbel's pipeline.
#include <corbel/detail/pipeline.hpp>
#include <corbel/detail/suspend.hpp>

#include <memory>
#include <vector>

#include "tbb12/running.hpp"

namespace tbb::detail::r1 {

void deallocate_memory(void* memory);

}  // namespace tbb::detail::r1

namespace corbel::tbb12 {

namespace {

// A call of a first filter. The filter ends the stream by a call of set_end_of_input, on the same
// stack.
struct FirstCall {
  const d1::base_filter* filter;
  std::uintptr_t stack;
  FirstCall* outer;
  bool has_ended;
};
__thread FirstCall* first_calls CORBEL_INITIAL_EXEC = nullptr;

// Items are pointers.
class Stage final : public corbel::detail::pipeline_stage {
 public:
  Stage(d1::base_filter& filter, bool is_first, d1::task_group_context& context)
      : pipeline_stage(is_first ? 0 : sizeof(void*), alignof(void*),
                       (filter.mode & d1::base_filter::kSerial) != 0,
                       (filter.mode & d1::base_filter::kSerial) != 0 &&
                           (filter.mode & d1::base_filter::kOutOfOrder) == 0),
        filter_(filter),
        is_first_(is_first),
        context_(context) {}
  // The filter was made by the program in memory of allocate_memory.
  ~Stage() override {
    filter_.~base_filter();
    r1::deallocate_memory(&filter_);
  }

  bool run(void* in, void* out) const override {
    Running now = call();
    const RunningScope scope(now);
    void*& result = *static_cast<void**>(out);
    if (!is_first_) {
      void* const item = *static_cast<void**>(in);
      try {
        result = filter_(item);
      } catch (...) {
        finalize(item);  // the program's code keeps it if its function throws
        throw;
      }
      return true;
    }
    FirstCall first{&filter_, corbel::detail::stack_key(), first_calls, false};
    first_calls = &first;
    struct Leave {
      FirstCall& call;
      ~Leave() {
        for (FirstCall** c = &first_calls; *c != nullptr; c = &(*c)->outer) {
          if (*c != &call) continue;
          *c = call.outer;
          break;
        }
      }
    } const at_end{first};
    result = filter_(nullptr);
    const bool may_be_null = (filter_.mode & d1::base_filter::kMayBeNull) != 0;
    return !first.has_ended && (result != nullptr || may_be_null);
  }

  void drop(void* in) const noexcept override {
    Running now = call();
    const RunningScope scope(now);
    finalize(*static_cast<void**>(in));
  }

 private:
  void finalize(void* item) const {
    if (item == nullptr && (filter_.mode & d1::base_filter::kMayBeNull) == 0) return;
    filter_.finalize(item);
  }

  Running call() const {
    return {{&context_, d1::kNoSlot, d1::kNoSlot}, current_thread(), nullptr};
  }

  d1::base_filter& filter_;
  const bool is_first_;
  d1::task_group_context& context_;
};

// The leaves of the tree, from left to right, are the filters.
void collect(const d1::filter_node& node, d1::task_group_context& context,
             std::vector<std::unique_ptr<Stage>>& stages) {
  if (node.left != nullptr && node.right != nullptr) {
    collect(*node.left, context, stages);
    collect(*node.right, context, stages);
    return;
  }
  stages.reserve(stages.size() + 1);
  stages.push_back(std::make_unique<Stage>(*node.create_filter(), stages.empty(), context));
}

}  // namespace

}  // namespace corbel::tbb12

namespace tbb::detail::r1 {

using namespace corbel::tbb12;

CORBEL_TBB12 void parallel_pipeline(d1::task_group_context& context, std::size_t max_tokens,
                                    const d1::filter_node& root) {
  const RunningScope scope;
  std::vector<std::unique_ptr<Stage>> stages;
  collect(root, actual_context(context), stages);
  const corbel::detail::stage_list list = [&] {
    corbel::detail::stage_list l;
    for (const std::unique_ptr<Stage>& s : stages) l.push_back(s.get());
    return l;
  }();
  corbel::detail::call_in_group(
      d1::own_context(actual_context(context)), [&](thread_data& thread, context_node& group) {
        corbel::detail::pipeline_call(group, list, max_tokens).run(thread);
      });
}

CORBEL_TBB12 void set_end_of_input(d1::base_filter& filter) {
  const std::uintptr_t stack = corbel::detail::stack_key();
  for (FirstCall* c = first_calls; c != nullptr; c = c->outer) {
    if (c->filter != &filter || c->stack != stack) continue;
    c->has_ended = true;
    return;
  }
}

}  // namespace tbb::detail::r1

// SPDX-License-Identifier: Apache-2.0
// tree_sum on classic tbb::task, in the four ways of the 2007 article. Each phase is one task class
// that splits into two halves; the variants split differently.
#include <tbb/task.h>

#include <memory>

#include "classic_tricks.hpp"
#include "classic_width.hpp"
#include "tree_sum.hpp"

namespace {

using bench::Tricks;
using tree_sum::Node;
using tree_sum::Part;

// Generates a subtree and stores it at the place that the parent gives.
template <Tricks kTricks>
class Generate : public tbb::task {
 public:
  Generate(Part part, std::uint32_t cutoff, Node** place)
      : part_(part), cutoff_(cutoff), place_(place) {}

  tbb::task* execute() override {
    if (part_.nodes < cutoff_) {
      *place_ = tree_sum::generate(part_);
      return nullptr;
    }
    Node* const node = tree_sum::lone_node(part_);
    *place_ = node;
    const Part left = part_.left();
    const Part right = part_.right();
    if constexpr (kTricks == Tricks::kPlain) {
      set_ref_count(3);  // two children and the wait
      spawn(*new (allocate_child()) Generate(right, cutoff_, &node->right));
      spawn_and_wait_for_all(*new (allocate_child()) Generate(left, cutoff_, &node->left));
      return nullptr;
    } else {
      tbb::task& join = *new (allocate_continuation()) tbb::empty_task;
      join.set_ref_count(2);
      tbb::task& second = *new (join.allocate_child()) Generate(right, cutoff_, &node->right);
      if constexpr (kTricks == Tricks::kRecycling) {
        recycle_as_child_of(join);
        part_ = left;
        place_ = &node->left;
        spawn(second);
        return this;
      } else {
        tbb::task& first = *new (join.allocate_child()) Generate(left, cutoff_, &node->left);
        spawn(second);
        if constexpr (kTricks == Tricks::kBypass) return &first;
        spawn(first);
        return nullptr;
      }
    }
  }

 private:
  Part part_;
  const std::uint32_t cutoff_;
  Node** place_;
};

// The continuation of a Sum: adds the results of its two children.
class Join : public tbb::task {
 public:
  Join(float value, float* result) : value_(value), result_(result) {}

  tbb::task* execute() override {
    *result_ = value_ + left + right;
    return nullptr;
  }

  float left = 0;
  float right = 0;

 private:
  const float value_;
  float* const result_;
};

template <Tricks kTricks>
class Sum : public tbb::task {
 public:
  Sum(const Node* node, std::uint32_t cutoff, float* result)
      : node_(node), cutoff_(cutoff), result_(result) {}

  tbb::task* execute() override {
    if (node_->nodes < cutoff_) {
      *result_ = tree_sum::sum(node_);
      return nullptr;
    }
    if constexpr (kTricks == Tricks::kPlain) {
      float left = 0;
      float right = 0;
      set_ref_count(3);  // two children and the wait
      spawn(*new (allocate_child()) Sum(node_->right, cutoff_, &right));
      spawn_and_wait_for_all(*new (allocate_child()) Sum(node_->left, cutoff_, &left));
      *result_ = node_->value + left + right;
      return nullptr;
    } else {
      Join& join = *new (allocate_continuation()) Join(node_->value, result_);
      join.set_ref_count(2);
      tbb::task& second = *new (join.allocate_child()) Sum(node_->right, cutoff_, &join.right);
      if constexpr (kTricks == Tricks::kRecycling) {
        recycle_as_child_of(join);
        node_ = node_->left;
        result_ = &join.left;
        spawn(second);
        return this;
      } else {
        tbb::task& first = *new (join.allocate_child()) Sum(node_->left, cutoff_, &join.left);
        spawn(second);
        if constexpr (kTricks == Tricks::kBypass) return &first;
        spawn(first);
        return nullptr;
      }
    }
  }

 private:
  const Node* node_;
  const std::uint32_t cutoff_;
  float* result_;
};

template <typename Task, typename... Given>
void run_root(Given... given) {
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Task(given...));
}

tree_sum::Program prepare(bench::Arguments& arguments) {
  const auto width = std::make_shared<bench::Width>(arguments.threads());
  return bench::with_tricks(arguments.text("variant", "plain"), [&](auto tricks) {
    constexpr Tricks kTricks = decltype(tricks)::value;
    return tree_sum::Program{
        [width](std::uint32_t nodes, std::uint32_t cutoff) {
          Node* tree = nullptr;
          run_root<Generate<kTricks>>(Part{0, nodes}, cutoff, &tree);
          return tree;
        },
        [width](const Node* tree, std::uint32_t cutoff) {
          float result = 0;
          run_root<Sum<kTricks>>(tree, cutoff, &result);
          return result;
        },
    };
  });
}

}  // namespace

const bench::Kernel bench::kernel = tree_sum::kernel(prepare);

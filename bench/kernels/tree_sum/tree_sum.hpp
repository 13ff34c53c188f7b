// SPDX-License-Identifier: Apache-2.0
// Shared by the programs of tree_sum: the tree, the serial work below the cut-off, and the kernel.
// From the description in "The Foundations for Scalable Multi-Core Software in Intel Threading
// Building Blocks" (Intel Technology Journal 11(4), 2007), Figures 14 and 15: a binary tree of
// nodes with a float each is generated, then summed, both in parallel down to subtrees of less than
// a cut-off.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "classic_tricks.hpp"
#include "harness.hpp"

namespace tree_sum {

struct Node {
  Node* left = nullptr;
  Node* right = nullptr;
  std::uint32_t nodes = 0;  // in this subtree
  float value = 0;
};

// A subtree to generate: nodes are numbered from the root, the left subtree first.
struct Part {
  std::uint32_t first = 0;
  std::uint32_t nodes = 0;

  Part left() const { return {first + 1, (nodes - 1) / 2}; }
  Part right() const { return {first + 1 + left().nodes, nodes - 1 - left().nodes}; }
};

inline float value_of(std::uint32_t number) { return 0.5f + static_cast<float>(number % 1024); }

inline Node* lone_node(Part part) {
  return new Node{nullptr, nullptr, part.nodes, value_of(part.first)};
}

// The serial programs of both phases.
inline Node* generate(Part part) {
  Node* const node = lone_node(part);
  if (part.left().nodes > 0) node->left = generate(part.left());
  if (part.right().nodes > 0) node->right = generate(part.right());
  return node;
}

// All programs add in this order, so that they round identically.
inline float sum(const Node* node) {
  float result = node->value;
  if (node->left) result += sum(node->left);
  if (node->right) result += sum(node->right);
  return result;
}

// A program: both phases with its scheduler. The serial program handles subtrees of fewer than
// `cutoff` nodes. The cut-off is at least 3, so that every node above it has both subtrees.
struct Program {
  std::function<Node*(std::uint32_t nodes, std::uint32_t cutoff)> generate;
  std::function<float(const Node* tree, std::uint32_t cutoff)> sum;
  double min_seconds = 0;  // of summation; the sum is repeated until then
};

inline void check_tree(const Node* node, Part part) {
  bench::check(node->nodes == part.nodes && node->value == value_of(part.first), "a node");
  bench::check((node->left != nullptr) == (part.left().nodes > 0), "a left subtree");
  bench::check((node->right != nullptr) == (part.right().nodes > 0), "a right subtree");
  if (node->left) check_tree(node->left, part.left());
  if (node->right) check_tree(node->right, part.right());
}

inline void check_sum(float found, std::uint32_t nodes) {
  double expected = 0;
  for (std::uint32_t i = 0; i < nodes; ++i) expected += static_cast<double>(value_of(i));
  bench::check(std::fabs(static_cast<double>(found) - expected) <= 1e-5 * expected, "the sum");
}

// The tree is not freed: the experiment is about building it, and the process ends.
inline void measure(const Program& program, bench::Arguments& arguments, bench::Result& result) {
  const auto nodes = static_cast<std::uint32_t>(arguments.number("nodes", 100'000));
  const auto cutoff = static_cast<std::uint32_t>(arguments.number("cutoff", 100));
  const std::uint64_t sums = arguments.number("sums", 1);
  const std::string phase = arguments.text("phase", "allocation");
  const bool summation = phase == "summation";
  bench::check(summation || phase == "allocation", "phase= is one of allocation and summation");
  bench::check(nodes >= 1 && cutoff >= 3 && sums >= 1, "nodes=, sums= or cutoff= is too small");
  program.sum(program.generate(1000, 3), 3);  // starts the threads

  const double begin = bench::now();
  const Node* const tree = program.generate(nodes, cutoff);
  const double middle = bench::now();
  float total = 0;
  std::uint64_t done = 0;
  for (; done < sums || bench::now() - middle < program.min_seconds; ++done) {
    total = program.sum(tree, cutoff);
    bench::escape(&total);  // keeps every sum
  }
  const double end = bench::now();

  check_tree(tree, {0, nodes});
  check_sum(total, nodes);
  const double sum_seconds = (end - middle) / static_cast<double>(done);
  result.seconds = summation ? end - middle : middle - begin;
  result.value = summation ? sum_seconds : middle - begin;
  result.extra["allocation s"] = middle - begin;
  result.extra["summation s"] = sum_seconds;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &total, sizeof bits);
  result.checksum = (static_cast<std::uint64_t>(nodes) << 32) | bits;
}

// One sum is short, so the figure is the mean of several; of fewer when there are very many tasks.
inline bench::Case case_of(const std::string& phase, const std::string& cutoff) {
  const std::string start = "phase=" + phase + " cutoff=" + cutoff;
  const auto sums = [&](const std::string& few, const std::string& many) {
    if (phase != "summation") return std::string();
    return " sums=" + (cutoff == "10" ? few : many);
  };
  return {phase + ", cut-off " + cutoff, start + " nodes=200000" + sums("5", "20"),
          start + " nodes=1000000" + sums("10", "30"),
          start + " nodes=10000000" + sums("10", "10")};
}

// The kernel of one program. `prepare` sets its scheduler up for the given arguments.
inline bench::Kernel kernel(std::function<Program(bench::Arguments&)> prepare) {
  return {
      .name = "tree_sum",
      .title = "Tree sum",
      .what =
          "A binary tree of nodes with a float each is generated in parallel, with one new per "
          "node, and then summed in parallel; one task handles each subtree below the cut-off. "
          "The time of either phase is compared with that of the serial program on glibc: the "
          "first depends on the allocator as much as on the scheduler, and the second on how "
          "close together the allocator has placed the nodes of a subtree.",
      .group = "seed scheduler",
      .figure = "Figures 14 and 15",
      .plot = "speedup",
      .threads = {1, 2, 4, 8},
      .cases = {case_of("allocation", "10"), case_of("allocation", "100"),
                case_of("allocation", "10000"), case_of("summation", "10"),
                case_of("summation", "100"), case_of("summation", "10000")},
      .variants = bench::four_tricks(),
      .allocators = {"glibc", "tbbmalloc", "corbel"},
      .run = [prepare](bench::Arguments& arguments,
                       bench::Result& result) { measure(prepare(arguments), arguments, result); },
  };
}

}  // namespace tree_sum

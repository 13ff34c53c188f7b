// SPDX-License-Identifier: Apache-2.0
// tree_sum with tbb::parallel_invoke for the two subtrees of a node.
#include <tbb/parallel_invoke.h>

#include <memory>

#include "tbb_width.hpp"
#include "tree_sum.hpp"

namespace {

using tree_sum::Node;
using tree_sum::Part;

Node* generate(Part part, std::uint32_t cutoff) {
  if (part.nodes < cutoff) return tree_sum::generate(part);
  Node* const node = tree_sum::lone_node(part);
  tbb::parallel_invoke([&] { node->left = generate(part.left(), cutoff); },
                       [&] { node->right = generate(part.right(), cutoff); });
  return node;
}

float sum(const Node* node, std::uint32_t cutoff) {
  if (node->nodes < cutoff) return tree_sum::sum(node);
  float left = 0;
  float right = 0;
  tbb::parallel_invoke([&] { left = sum(node->left, cutoff); },
                       [&] { right = sum(node->right, cutoff); });
  return node->value + left + right;
}

tree_sum::Program prepare(bench::Arguments& arguments) {
  const auto width = std::make_shared<bench::Width>(arguments.threads());
  return {
      [width](std::uint32_t nodes, std::uint32_t cutoff) {
        return width->run([&] { return generate({0, nodes}, cutoff); });
      },
      [width](const Node* tree, std::uint32_t cutoff) {
        return width->run([&] { return sum(tree, cutoff); });
      },
  };
}

}  // namespace

const bench::Kernel bench::kernel = tree_sum::kernel(prepare);

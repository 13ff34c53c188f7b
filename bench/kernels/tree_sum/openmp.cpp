// SPDX-License-Identifier: Apache-2.0
// tree_sum with an OpenMP task for one of the two subtrees of a node.
#include "openmp_width.hpp"
#include "tree_sum.hpp"

namespace {

using tree_sum::Node;
using tree_sum::Part;

Node* generate(Part part, std::uint32_t cutoff) {
  if (part.nodes < cutoff) return tree_sum::generate(part);
  Node* const node = tree_sum::lone_node(part);
#pragma omp task
  node->left = generate(part.left(), cutoff);
  node->right = generate(part.right(), cutoff);
#pragma omp taskwait
  return node;
}

float sum(const Node* node, std::uint32_t cutoff) {
  if (node->nodes < cutoff) return tree_sum::sum(node);
  float left = 0;
#pragma omp task shared(left)
  left = sum(node->left, cutoff);
  const float right = sum(node->right, cutoff);
#pragma omp taskwait
  return node->value + left + right;
}

tree_sum::Program prepare(bench::Arguments& arguments) {
  bench::Width width(arguments.threads());
  return {
      [width](std::uint32_t nodes, std::uint32_t cutoff) mutable {
        return width.run([&] { return generate({0, nodes}, cutoff); });
      },
      [width](const Node* tree, std::uint32_t cutoff) mutable {
        return width.run([&] { return sum(tree, cutoff); });
      },
  };
}

}  // namespace

const bench::Kernel bench::kernel = tree_sum::kernel(prepare);

// SPDX-License-Identifier: Apache-2.0
// A binary tree, built by some threads and freed by others. The builders still exist while it is
// freed, so the free of each node is a remote free.
#include <algorithm>
#include <cstdlib>
#include <latch>

#include "harness.hpp"

namespace {

struct Node {
  Node* left;
  Node* right;
  std::uint64_t index;  // as in a heap: the children of i are 2 i and 2 i + 1
  std::uint64_t value;
};

std::uint64_t value_of(std::uint64_t index) { return bench::Random(index).next(); }

Node* build(std::uint64_t index, std::uint64_t nodes, std::uint64_t salt) {
  if (nodes == 0) return nullptr;
  auto* node = static_cast<Node*>(std::malloc(sizeof(Node)));
  bench::check(node != nullptr, "malloc gave NULL");
  const std::uint64_t left = (nodes - 1) / 2;
  *node = {nullptr, nullptr, index, value_of(index ^ salt)};
  node->left = build(2 * index, left, salt);
  node->right = build(2 * index + 1, nodes - 1 - left, salt);
  return node;
}

struct Found {
  std::uint64_t nodes = 0;
  std::uint64_t sum = 0;
};

void free_all(Node* node, std::uint64_t index, std::uint64_t salt, Found& found) {
  if (!node) return;
  bench::check(node->index == index && node->value == value_of(index ^ salt), "a node has changed");
  ++found.nodes;
  found.sum += node->value;
  free_all(node->left, 2 * index, salt, found);
  free_all(node->right, 2 * index + 1, salt, found);
  std::free(node);
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t nodes = arguments.number("nodes", 100'000);  // of all threads together
  const unsigned threads = arguments.threads();
  std::vector<Node*> roots(threads);
  std::vector<Found> found(threads);
  std::latch built(threads);
  std::latch freed(threads);
  double end_of_build = 0;
  const std::uint64_t before_kib = bench::status_kib("VmRSS");
  const auto share = [&](unsigned i) { return nodes / threads + (i < nodes % threads); };
  const auto salt = [](unsigned i) { return std::uint64_t{i + 1} << 48U; };
  const double begin = bench::now();
  bench::in_threads(2 * threads, [&](unsigned thread) {
    const unsigned i = thread % threads;
    bench::pin(i, threads);
    if (thread < threads) {
      roots[i] = build(1, share(i), salt(i));
      built.count_down();
      freed.wait();
      return;
    }
    built.wait();
    if (i == 0) end_of_build = bench::now();
    Found mine;  // its neighbours in the vector belong to other threads and share its cache line
    free_all(roots[i], 1, salt(i), mine);
    found[i] = mine;
    freed.count_down();
  });
  result.seconds = bench::now() - begin;
  result.value = result.seconds;
  std::uint64_t all = 0;
  for (const Found& part : found) {
    all += part.nodes;
    result.checksum += part.sum;
  }
  bench::check(all == nodes, "nodes are missing");
  result.extra["building s"] = end_of_build - begin;
  result.extra["freeing s"] = result.seconds - (end_of_build - begin);
  const std::uint64_t peak_kib = std::max(bench::status_kib("VmHWM"), before_kib);
  result.extra["bytes a node at the peak"] =
      static_cast<double>(peak_kib - before_kib) * 1024 / static_cast<double>(nodes);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "tree",
    .title = "A tree freed by other threads",
    .what =
        "A binary tree of 32-byte nodes is built by the threads and freed by as many others "
        "while the builders still exist; a full run has ten million nodes. The time is that of "
        "both phases; peak memory shows the real size of a node.",
    .group = "modern allocator",
    .plot = "table",
    .threads = {1, 2},
    .cases = {{"", "nodes=800000", "nodes=4000000", "nodes=10000000"}},
    .run = run,
};

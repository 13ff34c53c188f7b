// SPDX-License-Identifier: Apache-2.0
// Cholesky's factorisation with the oneTBB API: a continue_node for every operation on a tile.
#include "cholesky.hpp"

#include <tbb/flow_graph.h>

#include <deque>
#include <utility>
#include <vector>

#include "../tbb_width.hpp"

namespace {

using tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<continue_msg>;

// The graph, built in the order of the serial program. `last_` has the node that wrote a tile last.
class Builder {
 public:
  explicit Builder(cholesky::Matrix& matrix)
      : matrix_(matrix), tiles_(matrix.tiles()), last_(tiles_ * tiles_) {
    for (std::size_t k = 0; k < tiles_; ++k) add_step(k);
  }

  int run() {
    nodes_.front().try_put(continue_msg());
    all_.wait_for_all();
    return 0;
  }

 private:
  void add_step(std::size_t k) {
    add(k, k, {}, [this, k] { matrix_.factor(k); });
    for (std::size_t i = k + 1; i < tiles_; ++i) {
      add(i, k, {last(k, k)}, [this, i, k] { matrix_.solve(i, k); });
    }
    for (std::size_t i = k + 1; i < tiles_; ++i) {
      for (std::size_t j = k + 1; j <= i; ++j) {
        add(i, j, {last(i, k), i == j ? nullptr : last(j, k)},
            [this, i, j, k] { matrix_.update(i, j, k); });
      }
    }
  }

  Node* last(std::size_t i, std::size_t j) const { return last_[i * tiles_ + j]; }

  // The node that writes tile (i, j) next, after `others`.
  template <typename Body>
  void add(std::size_t i, std::size_t j, std::initializer_list<Node*> others, const Body& body) {
    Node& made = nodes_.emplace_back(all_, [body](const continue_msg&) {
      body();
      return continue_msg();
    });
    for (Node* const other : others) {
      if (other) tbb::flow::make_edge(*other, made);
    }
    Node*& before = last_[i * tiles_ + j];
    // A tile that no node has written yet is ready; the first step's nodes depend on the first one.
    if (before) tbb::flow::make_edge(*before, made);
    before = &made;
  }

  cholesky::Matrix& matrix_;
  const std::size_t tiles_;
  tbb::flow::graph all_;
  std::deque<Node> nodes_;
  std::vector<Node*> last_;
};

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  cholesky::measure(arguments, result, [&](cholesky::Matrix& matrix) {
    width.run([&] { return Builder(matrix).run(); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = cholesky::description(run);

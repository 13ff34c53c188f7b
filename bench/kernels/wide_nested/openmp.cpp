// SPDX-License-Identifier: Apache-2.0
// Loops in loops and trees with OpenMP's tasks.
#include "../openmp_width.hpp"
#include "wide_nested.hpp"

namespace {

using wide::Bodies;
using wide::Structure;

// Pointers, because a task copies what a reference refers to.
void loop(const Structure* s, const Bodies* bodies, std::size_t number) {
#pragma omp taskloop grainsize(1)
  for (std::size_t i = s->starts[number]; i < s->starts[number + 1]; ++i) (*bodies)(i);
}

void loops(const Structure* s, const Bodies* bodies) {
#pragma omp taskloop grainsize(1)
  for (std::size_t i = 0; i < s->starts.size() - 1; ++i) loop(s, bodies, i);
}

void tree(const Structure* s, const Bodies* bodies, bool parents_first, std::size_t node) {
  if (parents_first) (*bodies)(node);
  if (const std::size_t first = s->children[node]) {
#pragma omp task
    tree(s, bodies, parents_first, first);
    tree(s, bodies, parents_first, first + 1);
#pragma omp taskwait
  }
  if (!parents_first) (*bodies)(node);
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  const auto call = [&](const std::string& how, const Structure& s, const Bodies& bodies) {
    width.run([&] {
      if (s.children.empty()) {
        loops(&s, &bodies);
      } else {
        tree(&s, &bodies, how == "parents", 0);
      }
      return 0;
    });
  };
  wide::nested(arguments, result, call);
}

}  // namespace

const bench::Kernel bench::kernel = wide::nested_description(run);

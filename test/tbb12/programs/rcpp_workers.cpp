// SPDX-License-Identifier: Apache-2.0
// For rcpp_workers.R: RcppParallel's two algorithms.
// [[Rcpp::depends(RcppParallel)]]
#include <Rcpp.h>
#include <RcppParallel.h>

#include <algorithm>
#include <cmath>
#include <numeric>

struct Roots : RcppParallel::Worker {
  Roots(Rcpp::NumericMatrix from, Rcpp::NumericMatrix to) : from(from), to(to) {}
  void operator()(std::size_t begin, std::size_t end) override {
    std::transform(from.begin() + begin, from.begin() + end, to.begin() + begin,
                   [](double x) { return std::sqrt(x); });
  }
  const RcppParallel::RMatrix<double> from;
  RcppParallel::RMatrix<double> to;
};

struct Total : RcppParallel::Worker {
  explicit Total(Rcpp::NumericVector values) : values(values) {}
  Total(const Total& other, RcppParallel::Split) : values(other.values) {}
  void operator()(std::size_t begin, std::size_t end) override {
    value = std::accumulate(values.begin() + begin, values.begin() + end, value);
  }
  void join(const Total& other) { value += other.value; }
  const RcppParallel::RVector<double> values;
  double value = 0;
};

// [[Rcpp::export]]
Rcpp::NumericMatrix parallel_roots(Rcpp::NumericMatrix from) {
  Rcpp::NumericMatrix to(from.nrow(), from.ncol());
  Roots roots(from, to);
  RcppParallel::parallelFor(0, from.length(), roots, 100);
  return to;
}

// [[Rcpp::export]]
double parallel_total(Rcpp::NumericVector values) {
  Total total(values);
  RcppParallel::parallelReduce(0, values.length(), total, 100);
  return total.value;
}

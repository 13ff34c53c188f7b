# SPDX-License-Identifier: Apache-2.0
# For test_rcppparallel.py. Arguments: what sourceCpp made of rcpp_workers.cpp; the number of rounds.
suppressPackageStartupMessages({
  library(Rcpp)
  library(RcppParallel)
})
arguments <- commandArgs(TRUE)
source(arguments[1])
setThreadOptions(numThreads = 2)
for (round in seq_len(as.integer(arguments[2]))) {
  numbers <- matrix(as.numeric(seq_len(500000)) + round, 500)
  roots <- parallel_roots(numbers)
  cat("result", round, identical(roots, sqrt(numbers)), parallel_total(numbers), "\n")
}
cat("result end\n")

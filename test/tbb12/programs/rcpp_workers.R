# SPDX-License-Identifier: Apache-2.0
# For test_rcppparallel.py. Arguments: the C++ file, a folder for what is compiled, number of rounds.
suppressPackageStartupMessages({
  library(Rcpp)
  library(RcppParallel)
})
arguments <- commandArgs(TRUE)
sourceCpp(arguments[1], cacheDir = arguments[2])
setThreadOptions(numThreads = 2)
for (round in seq_len(as.integer(arguments[3]))) {
  numbers <- matrix(as.numeric(seq_len(500000)) + round, 500)
  roots <- parallel_roots(numbers)
  cat("result", round, identical(roots, sqrt(numbers)), parallel_total(numbers), "\n")
}
cat("result end\n")

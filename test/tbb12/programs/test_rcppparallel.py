# SPDX-License-Identifier: Apache-2.0
"""R functions in C++ on RcppParallel's loop and reduction; with ./dev test --full also the bootstrap of
the R package markovchain. RcppParallel opens Debian's libtbb.so by its full path, which a library path
does not change. A preloaded library comes before that one, whose functions are then not used."""

import glob
import os

import both
from both import common

BOOTSTRAP = """
suppressPackageStartupMessages(library(markovchain))
steps <- sample(letters[1:4], 100, TRUE)
fit <- markovchainFit(data = steps, method = "bootstrap", nboot = 30, parallel = TRUE)
cat("result", dim(fit$estimate@transitionMatrix), rowSums(fit$estimate@transitionMatrix), "\\n")
cat("result end\\n")
"""


def installed(package):
    return glob.glob(f"/usr/lib/R/site-library/{package}/DESCRIPTION")


def test(scratch):
    script = common.require("Rscript", package="r-base-core")
    common.require("g++", package="g++")
    for package in ("Rcpp", "RcppParallel"):
        if not installed(package):
            common.skip(f"R has no {package} (Debian package r-cran-{package.lower()})")
    source = os.path.join(both.HERE, "rcpp_workers.cpp")
    compile_it = "Rcpp::sourceCpp(commandArgs(TRUE)[1], cacheDir = commandArgs(TRUE)[2])"
    common.run([script, "-e", compile_it, source, scratch], timeout=300)
    functions = glob.glob(os.path.join(scratch, "*", "*", "rcpp_workers.cpp.R"))[0]
    command = [script, os.path.join(both.HERE, "rcpp_workers.R"), functions]
    both.compare("RcppParallel", [*command, "20" if common.FULL else "5"], scratch, both.result_lines,
                 uses=["execute_and_wait", "spawn"], by_path=False)
    if common.FULL and installed("markovchain"):
        both.compare("markovchain", [script, "-e", BOOTSTRAP], scratch, both.result_lines,
                     uses=["execute_and_wait"], by_path=False)


common.main(test)

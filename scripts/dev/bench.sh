# SPDX-License-Identifier: Apache-2.0
# ./dev bench: the lab that measures Corbel beside its peers (bench/README.md).
# shellcheck shell=bash

command_bench() {
  case ${1:-} in
    compare | page | lock | -h | --help) ;; # these look at what is there
    *)
      if [[ $ROOT == *[[:space:]:]* ]]; then
        fail "LD_PRELOAD splits at spaces and colons: move the repository to a path without: $ROOT"
      fi
      need build
      want bench # a peer or a program that cannot be had is left out
      heading "Building"
      build_preset release --target corbelmalloc_proxy corbel_sched
      heading "Bench"
      ;;
  esac
  exec python3 -B "$ROOT/bench/run" "$@"
}

# SPDX-License-Identifier: Apache-2.0
# What run.sh and windows.sh share. Needs $work, a folder.
# shellcheck shell=bash

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# quiet <what> <command...>: shows the output only of a command that fails.
quiet() {
  local what=$1
  shift
  echo "-- $what"
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$what"; }
}

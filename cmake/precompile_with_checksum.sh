#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the command of a compiler that makes a precompiled header, and writes beside it the checksum
# of the files that it is made of. ccache takes that for the header's own (CCACHE_PCH_EXTSUM), which
# has the paths of the build folder in it.
"$@" || exit
while [ $# -gt 1 ]; do
  case $1 in
    -MF) rule=$2 ;;
    -o) header=$2 ;;
  esac
  shift
done
# What the makefile's rule depends on: without its target and the ends of its lines.
sed -e 's/^.*://' -e 's/\\$//' "$rule" | xargs cat | cksum >"$header.sum"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a compiler's command. If it makes a precompiled header, the checksum of the files that this
# is made of is written beside it: ccache takes it for the header's own (CCACHE_PCH_EXTSUM), which
# has the paths of the build folder in it. Without the checksum, ccache takes the header's.
"$@" || exit
is_header=false
while [ $# -gt 0 ]; do
  case $1 in
    -emit-pch) is_header=true ;;
    -MF) rule=$2 ;;
    -o) header=$2 ;;
  esac
  shift
done
[ $is_header = true ] || exit 0
rm -f "$header.sum"
# What the makefile's rule depends on: without its target and the ends of its lines.
files=$(sed -e '1s/^[^:]*://' -e 's/\\$//' "$rule") && [ -n "$files" ] || exit 0
sums=$(printf '%s\n' "$files" | xargs sha256sum) || exit 0
printf '%s\n' "$sums" | cut -d " " -f 1 | sha256sum >"$header.sum"

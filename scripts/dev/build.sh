# SPDX-License-Identifier: Apache-2.0
# Configuring and building a preset.
# shellcheck shell=bash

# build_preset PRESET [cmake --build arguments]; returns non-zero, having shown why, when it fails.
build_preset() {
  local preset=$1
  shift
  step "configure $preset" cmake --preset "$preset" \
    "-DCORBEL_FULL_TESTS=${FULL_TESTS:-OFF}" "-DCORBEL_TESTS_SINGLY=${TESTS_SINGLY:-OFF}" || return 1
  step "build $preset" cmake --build --preset "$preset" -j "$JOBS" "$@" || return 1
}

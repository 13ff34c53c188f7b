# SPDX-License-Identifier: Apache-2.0
# ./dev test: builds what it tests, runs ctest for each preset, adds the results up. The last line
# it prints is "N passed, N failed, N skipped".
# shellcheck shell=bash

PASSED=0 FAILED=0 SKIPPED=0
TABLE=()
BAD=()

# Adds the results of one ctest run, from its JUnit file, to the sums.
add_results() { # <stage> <file> <preset> <build seconds> <test seconds>
  local stage=$1 file=$2 passed=0 failed=1 skipped=0 results
  if [[ -s $file ]] && results=$(python3 "$ROOT/scripts/dev/results.py" "$file" \
    "$ROOT/build/$3/reports" "$LOGS/test_$stage.log"); then
    read -r passed failed skipped <<<"$results"
    tail -n +2 <<<"$results"
    if [[ $((passed + failed + skipped)) -eq 0 ]]; then
      failed=1 # a stage that ran no test at all
    fi
  fi
  PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
  row "$stage" "$passed" "$failed" "$skipped" "$4" "$5"
}

row() { TABLE+=("$(printf '%-20s %7s %7s %8s %8s %8s' "$@")"); }

left_out() { # <stage> <why>
  TABLE+=("$(printf '%-20s left out: %s' "$1" "$2")")
  SKIPPED=$((SKIPPED + 1))
}

stage_failed() { # <stage> <build seconds>
  FAILED=$((FAILED + 1))
  BAD+=("$1 (build)")
  row "$1 (build)" 0 1 0 "$2" -
}

# Where the kernel places memory at addresses more random than the thread sanitizer of gcc can bear.
without_randomness() {
  if setarch -R true 2>/dev/null; then
    setarch -R "$@"
  else
    "$@"
  fi
}

# run_stage NAME PRESET [ctest arguments]: configures the preset, builds it, or of it what TARGETS
# names, and runs its tests.
run_stage() {
  local name=$1 preset=$2 begin=$SECONDS built results log code=0
  shift 2
  heading "$name"
  # shellcheck disable=SC2086
  build_preset "$preset" ${TARGETS:+--target $TARGETS} || {
    stage_failed "$name" $((SECONDS - begin))
    return
  }
  built=$((SECONDS - begin)) begin=$SECONDS
  mkdir -p "$LOGS"
  results="$LOGS/$name.xml" log="$LOGS/test_$name.log"
  rm -rf "$results" "build/$preset/reports"
  # Many tests wait for others: more of them than processors.
  local run=(ctest --preset "$preset" -j $((JOBS + (JOBS + 1) / 2)) --output-junit "$results"
    --test-output-size-passed 100000 --test-output-size-failed 1000000 "$@")
  [[ $preset == tsan ]] && run=(without_randomness "${run[@]}")
  "${run[@]}" </dev/null 2>&1 | tee "$log" | show_tests || code=$?
  add_results "$name" "$results" "$preset" "$built" $((SECONDS - begin))
  if [[ $code -ne 0 ]]; then
    [[ -s $results ]] || tail -n 30 "$log"
    BAD+=("$name: build/logs/test_$name.log")
  fi
}

# Of ctest's output: one live line on a terminal; otherwise a line each time 25 tests are done. The
# output of failed tests, and what was skipped, always.
show_tests() {
  awk -v live="$LIVE" -v clear="$CLEAR" '
    /^ *[0-9]+\/[0-9]+ Test +#/ {
      count++
      bad = ($0 ~ /\*\*\*/ && $0 !~ /\*\*\*Skipped/)
      if (bad) { print clear "  " $0; showing = 1 }
      else {
        showing = 0
        if ($0 ~ /\*\*\*Skipped/) print clear "  " $0
        if (live) printf "%s  %s", clear, substr($0, 1, 76)
        else if (count % 25 == 0) print "  " $0
      }
      fflush(); next
    }
    /^ *Start +[0-9]+:/ { next }
    /tests passed,/ { if (live) printf "%s", clear; print "  " $0; showing = 0; next }
    showing { print "  | " $0 }'
}

# The corbel command is compiled by both only with --full.
windows_stages() {
  local tools=OFF
  [[ ${FULL_TESTS:-OFF} == ON ]] && tools=ON
  want windows
  if [[ -n $(missing_of $(packages_of windows)) ]]; then
    left_out windows "no MinGW or Wine here"
    return
  fi
  want_pip || true # fetches the real programs
  CORBEL_STRESS_SECONDS=${CORBEL_STRESS_SECONDS:-0.2} run_stage windows-gcc windows-gcc
  if want_zig; then
    TOOLS=$tools CORBEL_STRESS_SECONDS=${CORBEL_STRESS_SECONDS:-0.2} \
      run_stage windows-clang windows-clang
  else
    left_out windows-clang "no ziglang from PyPI"
  fi
}

# Only with --full.
musl_stage() {
  want musl
  if [[ -n $(missing_of $(packages_of musl)) ]]; then
    left_out linux-musl "no sources of GoogleTest here"
  elif want_zig; then
    run_stage linux-musl linux-musl
  else
    left_out linux-musl "no ziglang from PyPI"
  fi
}

command_test() {
  local mode=default only='' select=() begin=$SECONDS line
  while [[ $# -gt 0 ]]; do
    case $1 in
      --quick) mode=quick ;;
      --full) mode=full ;;
      -R)
        select=(-R "${2:?-R needs a regular expression}")
        shift
        ;;
      --preset)
        only=${2:?--preset needs a name}
        shift
        ;;
      *) fail "test: unknown option $1" ;;
    esac
    shift
  done
  need build
  if [[ -n $only || ${#select[@]} -gt 0 ]]; then
    only=${only:-release}
    need_of_preset "$only"
    # Only single tests have names to select.
    [[ ${#select[@]} -gt 0 ]] && TESTS_SINGLY=ON
    run_stage "$only" "$only" "${select[@]}"
  elif [[ $mode == quick ]]; then
    run_stage release release -LE 'programs|packaging'
  else
    want_programs
    want sanitizers
    want aarch64
    if [[ $mode == full ]]; then
      export CORBEL_STRESS_SECONDS=60 CORBEL_FULL_TESTS=1
      FULL_TESTS=ON
      want full_programs
    fi
    CORBEL_STRESS_SECONDS=${CORBEL_STRESS_SECONDS:-1} run_stage release release
    # With the internal checks, what the sanitizers' builds cannot run: they have these checks too.
    TARGETS='tests_life tests_misuse tests_proxy unit_nothing_under_locks
      unit_nothing_under_locks_commits' \
      run_stage dev dev -R '^(misuse|proxy|life)[.]|nothing_under_locks'
    CORBEL_STRESS_SECONDS=${CORBEL_STRESS_SECONDS:-2} run_stage asan-ubsan asan-ubsan
    CORBEL_STRESS_SECONDS=${CORBEL_STRESS_SECONDS:-2} run_stage tsan tsan
    if [[ -z $(missing_of $(packages_of aarch64)) ]]; then
      run_stage aarch64 aarch64
    else
      left_out aarch64 "no cross compiler or qemu-user here"
    fi
    windows_stages
    if [[ $mode == full ]]; then
      musl_stage
    fi
  fi
  heading "Summary ($((SECONDS - begin)) s)"
  printf '%-20s %7s %7s %8s %8s %8s\n' stage passed failed skipped 'build s' 'test s'
  printf '%s\n' "${TABLE[@]}"
  for line in "${BAD[@]}"; do
    say "failed: $line"
  done
  say
  say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
  [[ $FAILED -eq 0 && $PASSED -gt 0 ]]
}

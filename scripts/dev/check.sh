# SPDX-License-Identifier: Apache-2.0
# ./dev check and ./dev fmt.
# shellcheck shell=bash

# The newest clang program of a name that is new enough, e.g. find_clang clang++.
find_clang() {
  local version
  for version in 19 20 21 18 17 16; do
    if command -v "$1-$version" >/dev/null; then
      echo "$1-$version"
      return
    fi
  done
  return 1
}

# Formatting differs between versions: it is always 19's.
find_clang_format() {
  if command -v clang-format-19 >/dev/null; then
    echo clang-format-19
  else
    pip_tool clang-format clang-format==19.1.7 >&2 || return 1
    echo "$VENV/bin/clang-format"
  fi
}

sources() { git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp'; }

check_format() {
  sources | xargs -r -d '\n' "$1" --dry-run -Werror --ferror-limit=5
}

check_scripts() {
  local file
  for file in dev .ci/run $(git ls-files -co --exclude-standard -- '*.sh'); do
    bash -n "$file" || return 1
  done
  python3 - $(git ls-files -co --exclude-standard -- '*.py') <<'END'
import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name).read(), name)
END
}

build_with_clang() {
  local compiler=$1
  # No program of this build is run. Clang compiles the tests, too, in the test stage asan-ubsan,
  # and the scheduler's headers in the test of headers.
  cmake --preset release -B build/release-clang -DCMAKE_C_COMPILER="${compiler/clang++/clang}" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCORBEL_BUILD_TESTS=OFF "-DCORBEL_PROGRAM_OPTIONS=-O0;-g0" &&
    cmake --build build/release-clang -j "$JOBS"
}

command_check() {
  local bad=0 done=0 left_out=() tool check begin=$SECONDS
  need build
  want check
  heading "Checks"
  one() {
    done=$((done + 1))
    step "$@" || bad=$((bad + 1))
  }
  for check in layers style; do
    one "check_$check finds what it should" python3 "scripts/check_$check.py" --self-test
    one "$check" python3 "scripts/check_$check.py"
  done
  one "scripts parse" check_scripts
  if tool=$(find_clang_format); then
    STEP_TAIL=25 one "format (./dev fmt repairs it)" check_format "$tool"
  else
    left_out+=("format: no clang-format 19")
  fi
  one "gcc: configure" cmake --preset release
  one "gcc: build without warnings" cmake --build --preset release -j "$JOBS"
  one "libraries depend on libc alone" python3 scripts/check_needed.py build/release/lib
  if check=$(python3 scripts/check_abi.py --can-run); then
    one "check_abi finds what it should" python3 scripts/check_abi.py --self-test
    one "exported interface" python3 scripts/check_abi.py build/release/lib
  else
    left_out+=("$check")
  fi
  if tool=$(find_clang clang++); then
    one "$tool: build without warnings" build_with_clang "$tool"
    one "$tool: libraries depend on libc alone" \
      python3 scripts/check_needed.py build/release-clang/lib
  else
    left_out+=("clang: none of 16 or newer here")
  fi
  for check in "${left_out[@]}"; do
    say "  left out  $check"
  done
  say
  say "check: $((done - bad)) of $done checks passed in $((SECONDS - begin)) s"
  [[ $bad -eq 0 ]]
}

command_fmt() {
  local tool
  need build
  want check
  tool=$(find_clang_format) || fail "clang-format 19 is not to be had"
  sources | xargs -r -d '\n' "$tool" -i
  git --no-pager diff --stat
}

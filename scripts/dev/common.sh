# SPDX-License-Identifier: Apache-2.0
# Output of ./dev, and running a step with its output kept in build/logs.
# shellcheck shell=bash

LOGS="$ROOT/build/logs"
JOBS=$(nproc 2>/dev/null || echo 2)

if [[ -t 1 ]]; then
  BOLD=$'\e[1m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m' CLEAR=$'\r\e[K' LIVE=1
else
  BOLD='' RED='' GREEN='' PLAIN='' CLEAR='' LIVE=''
fi

say() { printf '%s\n' "$*"; }
heading() { printf '\n%s%s%s\n' "$BOLD" "$*" "$PLAIN"; }
fail() {
  printf '%sdev: %s%s\n' "$RED" "$*" "$PLAIN" >&2
  exit 1
}

# Shows the last line of what a step prints, over and over in one place; only on a terminal.
follow() {
  if [[ -n $LIVE ]]; then
    local line width
    width=$(($(tput cols 2>/dev/null || echo 80) - 4))
    while IFS= read -r line; do
      printf '%s  %s' "$CLEAR" "${line:0:width}"
    done
    printf '%s' "$CLEAR"
  else
    cat >/dev/null
  fi
}

# step NAME COMMAND...: runs it, says how it went and how long it took; returns its exit code.
step() {
  local name=$1 log begin=$SECONDS code=0
  shift
  mkdir -p "$LOGS"
  log="$LOGS/$(printf '%s' "$name" | tr -c 'A-Za-z0-9._-' '_').log"
  # The pipe's own code is the command's: follow always succeeds.
  "$@" </dev/null 2>&1 | tee "$log" | follow || code=$?
  if [[ $code -eq 0 ]]; then
    printf '  %sok%s    %s (%d s)\n' "$GREEN" "$PLAIN" "$name" $((SECONDS - begin))
  else
    printf '  %sFAIL%s  %s (%d s), exit code %d; the end of %s:\n' \
      "$RED" "$PLAIN" "$name" $((SECONDS - begin)) "$code" "${log#"$ROOT"/}"
    tail -n "${STEP_TAIL:-60}" "$log" | sed 's/^/  | /'
  fi
  return "$code"
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# redis-server under redis-benchmark. Only the server gets the preloaded library: the benchmark
# runs on the system's malloc on both sides.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
socket=$folder/redis.sock
redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --dir "$folder" \
  --logfile "$folder/log" --daemonize no &
server=$!
unset LD_PRELOAD
i=0
until redis-cli -s "$socket" ping >"$folder/ping" 2>&1; do
  i=$((i + 1))
  if [ "$i" -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
    echo "redis-server did not start" >&2
    exit 1
  fi
  sleep 0.05
done
redis-benchmark -s "$socket" -q -n "${1:-120000}" -P 16 -r 100000 -d 100 -t set,get,lpush,lpop,hset \
  >"$folder/benchmark"
redis-cli -s "$socket" shutdown nosave >/dev/null 2>&1 || true
wait "$server"

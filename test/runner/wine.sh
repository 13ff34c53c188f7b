#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wine.sh start|stop: starts Wine's server in $WINEPREFIX, made if need be, with what Windows starts
# at first; ends all of its programs and the server itself.
set -u
case ${1:-} in
  start)
    command -v wine >/dev/null || {
      echo "wine.sh: no wine here: install the packages wine and wine64" >&2
      exit 1
    }
    mkdir -p "$WINEPREFIX" || exit 1
    # Ends itself so many seconds after the last program. What stays must not keep the output open:
    # ctest waits for that.
    exec >/dev/null 2>&1
    wineserver -p60 # fails where one lives already
    exec timeout -k 5 60 wine cmd /c exit 0
    ;;
  stop)
    wineserver -k
    exec wineserver -w
    ;;
  *)
    echo "usage: wine.sh start|stop" >&2
    exit 2
    ;;
esac

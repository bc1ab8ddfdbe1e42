#!/bin/bash
# PID 1 of a database node. usage: supervisor COMMAND…
# The container ends with the server and with its exit code. A planned crash ends the server alone, so that its address answers at once
# with RST: on USR1 it and all that it started are killed, and the container stays; on USR2 the command starts again.
# SANDBOX_PRELOAD names a library for the server and all that it starts; one that is too new for their libc would end them: it is left out.
# A MySQL server may ask to be started again, by its exit code: for RESTART, and once it has cloned another one's data.

export MYSQLD_PARENT_PID=$$ # or mysqld would refuse both
readonly restart=16

preload=()
[ -z "$SANDBOX_PRELOAD" ] || preload=(env "LD_PRELOAD=$SANDBOX_PRELOAD")
if ! refusal=$("${preload[@]}" true 2>&1) || [ -n "$refusal" ]; then
  preload=()
  printf '%(%FT%TZ)T [supervisor] the server starts without %s: %s\n' -1 "$SANDBOX_PRELOAD" "$refusal" >&2
fi

stop() { # the server itself, as it would get the signal as PID 1; where it crashed, there is nothing left to wait for
  [ -z "$crashed" ] || exit 143
  kill -TERM "$server" 2>/dev/null
}

crash() {
  crashed=yes
  kill -KILL -- "-$server" 2>/dev/null
}

start() {
  crashed='' again=''
  set -m # the command leads a process group of its own
  "${preload[@]}" "$@" &
  server=$!
  set +m # or the wait for a stopped server would not wait
  echo "$server" >/sandbox/server.pid
}

trap stop TERM INT
trap crash USR1
trap 'again=$crashed' USR2
start "$@"
while :; do
  while wait "$server" 2>/dev/null; code=$?; kill -0 "$server" 2>/dev/null; do # a signal ends the wait, too
    :
  done
  if [ -z "$crashed" ] && [ "$code" = $restart ]; then
    kill -KILL -- "-$server" 2>/dev/null # what stood beside the server starts with it
    start "$@"
    continue
  fi
  [ -n "$crashed" ] || exit "$code"
  printf '%(%FT%TZ)T [supervisor] the server was killed on request\n' -1 >&2
  while [ -z "$again" ]; do
    sleep 0.5 & # a signal that comes right before the wait would not end it
    wait $!
  done
  printf '%(%FT%TZ)T [supervisor] the server starts again\n' -1 >&2
  start "$@"
done

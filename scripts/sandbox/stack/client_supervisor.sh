#!/bin/sh
# usage: sh -c TEXT load SECONDS PROGRAM ARGUMENT...; runs in the client node.
# The runner holds the load's input open: when it dies, however it dies, the input ends and so does the load.
# `timeout` leads a process group. The whole group gets the signal, since a `timeout` that has only just forked does not
# pass it on, and the load is over when the group is empty.
limit=$1
shift
exec 3<&0
timeout --kill-after=5 "$limit" "$@" 3<&- </dev/null &
load=$!
(read -r _ <&3; kill -TERM -"$load" || kill -TERM "$load") 2>/dev/null &
watcher=$!
wait "$load"
code=$?
kill "$watcher" 2>/dev/null
left=50
while [ "$left" -gt 0 ] && kill -0 -"$load" 2>/dev/null; do left=$((left - 1)); sleep 0.1; done
kill -KILL -"$load" 2>/dev/null
exit "$code"

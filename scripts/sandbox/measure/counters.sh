#!/bin/sh
# Runs in a node: answers each line of its input with the counters of its cgroup, in one line that starts with ASCII 30.
# Shell built-ins only, so that a request costs the node no process.
cd /sys/fs/cgroup || exit
while read -r _; do
  printf '\036'
  for file in cpu.stat io.stat cpuacct/cpuacct.usage blkio/blkio.throttle.io_service_bytes; do
    [ -r "$file" ] || continue
    printf '%s;' "${file##*/}"
    while read -r line; do printf '%s %s;' "${file##*/}" "$line"; done <"$file"
  done
  printf '\n'
done

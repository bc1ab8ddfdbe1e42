#!/bin/bash
# usage: bash -c TEXT limit CONTAINER [DEVICE [BYTES]]; in a helper that sees the host's control groups at /cgroup.
# Limits what a container writes to a block device (major:minor) in a second; without BYTES it takes the limit away.
# Without DEVICE it prints the file that limits, and changes nothing.
set -euo pipefail
container=$1 device=${2:-} bytes=${3:-}
file="/[^/]*${container}[^/]*/(io\.max|blkio\.throttle\.write_bps_device)" # of version 2 and 1, whatever manages the groups
found=$(find /cgroup -maxdepth 9 -regextype posix-extended -regex ".*$file" -print -quit 2>/dev/null) || true
[ -n "$found" ] || { echo 'no limit for block devices among the control groups of the container' >&2 && exit 1; }
[ -n "$device" ] || { echo "$found" && exit; }
[ -e "/sys/dev/block/$device" ] || { echo "the data directory is not on a block device ($device)" >&2 && exit 1; }
[ ! -e "/sys/dev/block/$device/partition" ] || device=$(cat "/sys/dev/block/$device/../dev") # limits apply to whole disks
case $found in
  */io.max) echo "$device wbps=${bytes:-max}" >"$found" ;;
  *) echo "$device ${bytes:-0}" >"$found" ;;
esac

#!/bin/bash
# wsrep_notify_cmd: tells the other nodes, over the shared folder, whether this one is in a primary component.
set -euo pipefail

primary=
while [ $# -gt 1 ]; do
  [ "$1" != --primary ] || primary=$2
  shift 2
done

state=/sandbox/forming/$SANDBOX_NODE.state
case $primary in
  yes) printf 'primary\n' >"$state.new" ;;
  no) printf 'nonprimary\n' >"$state.new" ;;
  *) exit 0 ;;
esac
mv "$state.new" "$state"

#!/bin/bash
# Decides whether this node founds the cluster, lets it go on, or joins it: CLUSTER_JOIN, which the image's own entrypoint
# acts on. No node can know that by itself, so each tells the others its state on port 4560: who answers lives, nothing
# is ever stale, and after the server's start the answer is the server's. (A lock on a shared folder would need flock,
# which this image does not promise, and a folder that its user may write. socat is there: state transfer needs it.)
#
# A state is: empty (no data), data UUID SEQNO (not started), doubtful (data whose last transaction nobody knows: it can
# join, but no cluster goes on from it), starting, primary, nonprimary.
set -euo pipefail

readonly data=/var/lib/mysql port=4560 me=$SANDBOX_NODE none=00000000-0000-0000-0000-000000000000
read -ra nodes <<<"$SANDBOX_NODES"
declare -A state uuid seqno

say() { printf '%(%FT%TZ)T [forming] %s\n' -1 "$*" >&2; }

saved() { sed -n "s/^$1: *//p" "$data/grastate.dat"; }

recovered() { # the last transaction that InnoDB knows of, as UUID:SEQNO
  local log
  log=$(mktemp)
  mysqld --wsrep_recover --log_error_verbosity=3 --log_error="$log" >&2 || cat "$log" >&2
  sed -n 's/.*Recovered position: *//p' "$log" | tail -n 1
  rm "$log"
}

position() { # the state of the data directory
  local found
  if [ ! -d "$data/mysql" ] || [ -e "$data/.unfinished" ] || [ -e "$data/sst_in_progress" ]; then
    echo empty
    return
  fi
  found=$none:-1
  [ ! -e "$data/grastate.dat" ] || found="$(saved uuid):$(saved seqno)"
  [ "${found##*:}" -ge 0 ] || found=$(recovered)
  case $found in
    '' | "$none":* | *:-1) echo doubtful ;;
    *) echo "data ${found%%:*} ${found##*:}" ;;
  esac
}

ask() { # what a node tells; nothing if it is not there
  # shellcheck disable=SC2016 # the inner shell's own arguments
  timeout 4 bash -c 'exec 3<>"/dev/tcp/$0/$1" && read -r line <&3 && printf "%s\n" "$line"' "$1" "$port" 2>/dev/null
}

survey() { # what the living nodes tell
  local node
  state=() uuid=() seqno=()
  for node in "${nodes[@]}"; do
    read -r "state[$node]" "uuid[$node]" "seqno[$node]" < <(ask "$node") || unset "state[$node]"
  done
}

count() { # how many living nodes are in a state
  local node number=0
  for node in "${!state[@]}"; do [ "${state[$node]}" != "$1" ] || number=$((number + 1)); done
  echo "$number"
}

histories() { # different clusters that stopped nodes have data of
  local node
  for node in "${!state[@]}"; do [ "${state[$node]}" != data ] || echo "${uuid[$node]}"; done | sort -u | wc -l
}

most_advanced() { # the stopped node with most transactions, the first of equals
  local node best=''
  for node in "${nodes[@]}"; do
    [ "${state[$node]}" = data ] || continue
    [ -n "$best" ] && [ "${seqno[$node]}" -le "${seqno[$best]}" ] || best=$node
  done
  echo "$best"
}

my_turn() { # nodes join a primary component one after the other; a component that lost its majority needs all at once
  local node
  [ "$(count nonprimary)" -eq 0 ] || return 0
  [ "$(count starting)" -eq 0 ] || return 1
  for node in "${nodes[@]}"; do
    [ "$node" != "$me" ] || return 0
    case ${state[$node]:-} in empty | data | doubtful) return 1 ;; esac
  done
}

decide() { # sets `way` as soon as it is clear; a cluster is never started while a node of it does not answer
  way=
  survey
  if [ $(($(count primary) + $(count nonprimary))) -gt 0 ]; then
    if my_turn; then way="join"; fi
  elif [ "$(count empty)" -eq ${#nodes[@]} ]; then
    [ "$me" != "${nodes[0]}" ] || way=found
  elif [ $(($(count empty) + $(count data))) -eq ${#nodes[@]} ]; then
    if [ "$(histories)" -gt 1 ]; then
      say "ERROR: the nodes hold different histories: ${uuid[*]}"
      exit 1
    fi
    [ "$(most_advanced)" != "$me" ] || way=bootstrap
  fi
  [ -n "$way" ]
}

clear_data() { find "$data" -mindepth 1 -delete; }

found() {
  say 'no node has data: this one founds the cluster'
  clear_data
  : >"$data/.unfinished" # until the last first-start script ran; an initialisation that was interrupted starts anew
}

bootstrap() {
  say "this node has the most: the cluster goes on from ${uuid[$me]}:${seqno[$me]}"
  [ ! -e "$data/grastate.dat" ] || sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' "$data/grastate.dat"
  rm -f "$data/gvwstate.dat"
}

join() {
  say "the cluster lives: this node ($first) joins it"
  [ "$first" != empty ] || clear_data
  CLUSTER_JOIN=$(IFS=,; echo "${nodes[*]}")
}

trap 'exit 143' TERM INT # PID 1 has no default action
rm -f /tmp/started
first=$(position)
echo "$first" >/tmp/position
say "$first"
socat "TCP-LISTEN:$port,fork,reuseaddr" EXEC:/sandbox/tell,nofork 2>/dev/null &
until decide; do sleep 0.3; done
export CLUSTER_JOIN=''
"$way"
: >/tmp/started

# What the image's file was told at an earlier start of this container stays in it: said on the command line, which wins.
address="gcomm://$CLUSTER_JOIN"
# The image's entrypoint traces every command with its arguments, passwords among them: not into the log.
exec 9>/dev/null
export BASH_XTRACEFD=9
exec "$@" --wsrep-cluster-address="$address"

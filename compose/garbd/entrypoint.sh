#!/bin/bash
# Keeps Galera's arbitrator in its group while there is one.
# A stopped cluster restores its primary component from a view of its servers (compose/galera/entrypoint.sh), and cannot while an
# arbitrator that is not of that view is among them. So it joins once a server takes connections, which none does without a primary
# component, and ends when no member is left: alone it might even be a primary component of its own.
set -uo pipefail

read -ra servers <<<"$SANDBOX_NODES"
mapfile -t options </sandbox/garbd.options
readonly looks_every_s=0.2
garbd=''

say() { printf '%(%FT%TZ)T [entrypoint] %s\n' -1 "$*" >&2; }

pause() { # a signal is taken at once
  sleep "$1" &
  wait $!
}

someone_serves() {
  local server
  for server in "${servers[@]}"; do
    timeout 2 bash -c ": >/dev/tcp/$server/3306" 2>/dev/null && return 0
  done
  return 1
}

connected() { # 4567 is 11D7, and 01 an established connection (proc(5), /proc/net/tcp)
  grep -Eqs ':11D7 [0-9A-F]+:[0-9A-F]{4} 01 |:11D7 01 ' /proc/net/tcp /proc/net/tcp6
}

stay() { # until garbd ends by itself, or there is nobody left: twice no connection, and no server that takes one
  local alone=0
  while kill -0 "$garbd" 2>/dev/null; do
    if connected || someone_serves; then
      alone=0
    else
      alone=$((alone + 1))
    fi
    if [ "$alone" -ge 2 ]; then
      say 'no member is left: garbd ends, and joins again once a server takes connections'
      kill "$garbd" 2>/dev/null
      break
    fi
    pause $looks_every_s
  done
  wait "$garbd"
}

trap '[ -z "$garbd" ] || kill "$garbd" 2>/dev/null; exit 143' TERM INT
while :; do
  until someone_serves; do pause $looks_every_s; done
  garbd "${options[@]}" &
  garbd=$!
  stay
  garbd=''
  pause $looks_every_s
done

#!/bin/bash
# How a node of this cluster starts. No node can know that by itself, so they tell each other over a small shared folder:
#
#   <node>.alive   locked while the node lives; exec hands the lock on to the server, and the kernel drops it when that dies
#   <node>.state   STATE [UUID SEQNO MEMBER ENDED], written by the node alone, worth nothing unless it lives
#   view           the primary component that a stopped cluster starts with, as gvwstate.dat has it
#   copy/          the data directory of a cluster just founded, until every node has it
#
# STATE    empty       no data
#          data        its last transaction is UUID:SEQNO
#          doubtful    it died while the schema changed, or its position is not certain, or is beyond the others': fit to go on
#                      from, not to be caught up
#          joining     its server started
#          primary, nonprimary    what the server last said to notify
# MEMBER   a fresh UUID, by which the provider would know it in a new view
# ENDED    `last` if it left its cluster last and in order, COUNT:ID of the primary component in which it died, or -
#
# A stopped cluster starts as after a power cut: every node gets the same gvwstate.dat, from which the provider restores the
# primary component once its members see each other (pc.recovery), and whoever lags asks for what it lacks. So no node has
# to be the first, equal nodes need no state transfer, and they join all at once.
set -euo pipefail

readonly data=/var/lib/mysql shared=/sandbox/forming me=$SANDBOX_NODE
readonly nowhere=00000000-0000-0000-0000-000000000000 patience_s=5
read -ra nodes <<<"$SANDBOX_NODES"
declare -A state uuid seqno member ended
start=("$@")

say() { printf '%(%FT%TZ)T [forming] %s\n' -1 "$*" >&2; }

fail() {
  say "ERROR: $*"
  exit 1
}

claim() { # the old state goes before the lock comes: what stands beside a held lock is of this life
  mkdir -p "$shared"
  chown mysql: "$shared"
  rm -f "$shared/$me.state"
  exec 9>"$shared/$me.alive"
  flock 9
}

publish() {
  say "$*"
  printf '%s\n' "$*" >"$shared/$me.new"
  chown mysql: "$shared/$me.new"
  mv "$shared/$me.new" "$shared/$me.state"
}

lives() { # a lock that can be had is held by nobody
  [ -e "$shared/$1.alive" ] && ! flock --nonblock --shared "$shared/$1.alive" true
}

survey() { # what the living nodes say
  local node
  state=() uuid=() seqno=() member=() ended=()
  for node in "${nodes[@]}"; do
    if [ -e "$shared/$node.state" ] && lives "$node"; then
      read -r "state[$node]" "uuid[$node]" "seqno[$node]" "member[$node]" "ended[$node]" <"$shared/$node.state"
    fi
  done
}

any() { # is a living node in one of the states?
  local node wanted
  for wanted; do
    for node in "${!state[@]}"; do [ "${state[$node]}" != "$wanted" ] || return 0; done
  done
  return 1
}

saved() { sed -n "s/^$1: *//p" "$data/grastate.dat"; }

recover() { # the last transaction that InnoDB knows of, as UUID:SEQNO[,GTID]
  local log
  log=$(mktemp)
  chown mysql: "$log"
  mariadbd --user=mysql --wsrep-provider="$provider" --wsrep-recover --log-error="$log" || cat "$log" >&2
  sed -n 's/.*Recovered position: *//p' "$log" | grep . || echo $nowhere:-1
  rm "$log"
}

examine() { # the data directory: what it is, its cluster's UUID, its last transaction, the same as start position
  local recovered
  what=data id=$nowhere number=-1 from=''
  if [ ! -d "$data/mysql" ] || [ -e "$data/.unfinished" ] || [ -e "$data/sst_in_progress" ]; then
    what=empty
    return
  fi
  [ ! -e "$data/grastate.dat" ] || { id=$(saved uuid) number=$(saved seqno); }
  [ "$number" -lt 0 ] || return 0
  recovered=$(recover)
  [ "${recovered%%:*}" = "$id" ] && [ "$id" != $nowhere ] || what=doubtful
  from=$recovered recovered=${recovered%%,*}
  id=${recovered%%:*} number=${recovered##*:}
  [ "$from" = "$recovered" ] || admit "${from#*,}"
}

admit() { # GTID. MariaDB 10.5 commits at recovery what its binary log has, and does not move the position along
  local gtid=$1 log committed
  log=$(my_print_defaults --mysqld | sed -n 's/^--log[-_]bin=//p' | tail -n 1)
  [ -s "$data/$log.index" ] || return 0
  committed=$(cd "$data" && mysqlbinlog --stop-position=1000 "$(tail -n 1 "$log.index")" | sed -n "s/.*Gtid list.*[^0-9]${gtid%-*}-\\([0-9]*\\).*/\\1/p")
  [ -n "$committed" ] && [ "$committed" -gt "${gtid##*-}" ] || return 0
  say "the binary log has more than the position $from counts: ${gtid%-*}-$committed"
  what=doubtful number=$((number + committed - ${gtid##*-})) from=''
}

how_it_ended() {
  if [ -s "$data/gvwstate.dat" ]; then
    awk '$1 == "view_id:" {id = $3 "/" $4} $1 == "member:" {members++} END {print members ":" id}' "$data/gvwstate.dat"
  elif [ -e "$data/grastate.dat" ] && [ "$(saved safe_to_bootstrap)" = 1 ]; then
    echo last
  else
    echo -
  fi
}

look() { # at the data directory, and say what is there
  examine
  my_member=$(</proc/sys/kernel/random/uuid)
  publish "$what $id $number $my_member $(how_it_ended)"
}

complete() { # may the living nodes go on without the rest? All may; so may those that ended the cluster, if others stay away
  local node other number
  [ ${#state[@]} -lt ${#nodes[@]} ] || return 0
  [ $SECONDS -ge $patience_s ] || return 1
  for node in "${!ended[@]}"; do
    [ "${ended[$node]}" != last ] || return 0
    number=0
    for other in "${!ended[@]}"; do [ "${ended[$other]}" != "${ended[$node]}" ] || number=$((number + 1)); done
    [ "${ended[$node]%%:*}" != $number ] || return 0
  done
  return 1
}

lineage() { # the UUID of the cluster that most nodes with data come from; nothing where two are equally frequent
  local node
  for node in "${!state[@]}"; do
    case ${state[$node]} in data | doubtful) echo "${uuid[$node]}" ;; esac
  done | grep -v "$nowhere" | sort | uniq -c | sort -rn | awk 'NR == 1 {most = $1; id = $2} NR == 2 && $1 == most {id = ""} END {print id}'
}

ranking() { # UUID: the nodes with data of that cluster; most transactions first, then who can be trusted, then in the profile's order
  local node
  for node in "${nodes[@]}"; do
    [ "${uuid[$node]:-}" != "$1" ] || echo "${seqno[$node]} ${state[$node]} $node"
  done | grep -v ' empty ' | sort -s -k 1,1nr -k 2,2 | cut -d ' ' -f 3
}

plan_start() { # of a stopped cluster; sets `way` where this node can go ahead
  local id ranked
  if ! any data doubtful; then
    [ "$me" != "${nodes[0]}" ] || way=found
    return 0
  fi
  id=$(lineage)
  if [ -z "$id" ]; then
    ! any data || fail "the nodes come from different clusters, none more frequent: ${uuid[*]}. Remove the data of those to give up"
    id=$nowhere
  fi
  mapfile -t ranked < <(ranking "$id")
  if [ "${ranked[0]}" != "$me" ]; then
    return 0
  elif [ "${state[$me]}" = doubtful ]; then
    way=salvage
  else
    write_view "${ranked[@]}"
    way=restore
  fi
}

write_view() { # NODE…: those among them that can be trusted
  local node
  {
    printf '#vwbeg\nview_id: 3 %s 1\nbootstrap: 0\n' "${member[$me]}"
    for node; do [ "${state[$node]}" != data ] || printf 'member: %s 0\n' "${member[$node]}"; done
    echo '#vwend'
  } >"$shared/view.new"
  mv "$shared/view.new" "$shared/view"
  rm -rf "$shared/copy"
}

decide() { # one node at a time, so that what one decides is what the next one sees
  exec 8>"$shared/decision"
  flock 8
  survey
  way=
  if any primary; then
    way='join'
  elif grep -qs "^member: ${member[$me]} " "$shared/view"; then
    way=restore # the quicker ones of the view wait in no primary component for this node
  elif any nonprimary; then
    way='join'
  elif any joining; then
    [ ! -s "$data/gvwstate.dat" ] || way=rejoin
  elif [ "${state[$me]}" = empty ] && [ -d "$shared/copy" ]; then
    way=copy
  elif complete && ! { any empty && [ -d "$shared/copy" ]; }; then
    plan_start
  fi
  case $way in join | restore | rejoin | salvage) publish joining ;; esac
  exec 8>&-
  [ -n "$way" ]
}

clear_data() { find "$data" -mindepth 1 -delete; }

explain() { # once, what this node waits for
  local node text=''
  [ -z "$explained" ] && [ $SECONDS -ge $patience_s ] || return 0
  for node in "${nodes[@]}"; do text+=", $node ${state[$node]:-absent}"; done
  say "waiting${text}"
  explained=yes
}

by_restore() { # the primary component of the view, of which this node is a member
  printf 'my_uuid: %s\n' "$my_member" | cat - "$shared/view" >"$data/gvwstate.dat"
  chown mysql: "$data/gvwstate.dat"
}

by_rejoin() { :; } # its place in the view that the others wait for is still in its gvwstate.dat

position_of() { # NODE: what it has applied, as UUID:SEQNO; nothing where it does not answer
  mariadb --defaults-file=/sandbox/client.cnf --host="$1" --protocol=tcp --connect-timeout=2 -N -B -e \
    "select group_concat(variable_value order by variable_name separator ':') from information_schema.global_status
     where variable_name in ('wsrep_cluster_state_uuid', 'wsrep_last_committed')" || true
}

compare_position() { # nodes that died together may have applied what the survivors never ordered; the provider aborts who returns with that
  local node position most=-1
  [ "$what" = data ] || return 0
  for node in "${!state[@]}"; do
    case ${state[$node]} in primary | nonprimary) position=$(position_of "$node") ;; *) continue ;; esac
    [ "${position%%:*}" != "$id" ] || [ "${position##*:}" -le "$most" ] || most=${position##*:}
  done
  [ "$most" -ge 0 ] && [ "$number" -gt "$most" ] || return 0
  say "this node applied transactions up to $number, and the cluster goes on from $most: what only this node has is given up"
  what=doubtful
}

by_join() { # gvwstate.dat stays: if too many died, those that live wait in it for this very member
  compare_position
  [ "$what" = empty ] || return 0
  clear_data
  install -d -o mysql -g mysql "$data/mysql" # or the image would initialise what the state transfer replaces
}

by_salvage() { # nobody knows better: what this node has is the cluster from here on
  rm -f "$data/gvwstate.dat"
  if [ "$id" != $nowhere ]; then
    printf '# GALERA saved state\nversion: 2.1\nuuid:    %s\nseqno:   %s\nsafe_to_bootstrap: 1\n' "$id" "$number" >"$data/grastate.dat"
    chown mysql: "$data/grastate.dat"
  fi
  start+=(--wsrep-new-cluster)
}

by_copy() { # what another node founded
  clear_data
  cp -a --sparse=always "$shared/copy/." "$data/"
  look
}

by_found() { # initialise once, as a cluster of one; every other node starts from a copy of it
  local server
  clear_data
  : >"$data/.unfinished"
  "${start[@]}" --wsrep-new-cluster --wsrep-cluster-address=gcomm:// --wsrep-notify-cmd= --skip-networking &
  server=$!
  trap 'kill $server; wait $server; exit 143' TERM INT
  until [ "$(founder_ready)" = ON ]; do
    kill -0 $server 2>/dev/null || fail 'the first start failed; the log above says why'
    sleep 0.1
  done
  kill $server
  wait $server
  trap 'exit 143' TERM INT
  rm -f "$data"/{galera.cache,gvwstate.dat,ib_buffer_pool}
  rm -rf "$shared"/copy{,.new}
  if [ ${#nodes[@]} -gt 1 ]; then
    cp -a --sparse=always "$data" "$shared/copy.new"
    mv "$shared/copy.new" "$shared/copy"
  fi
  look
}

founder_ready() { # not of the temporary server of the first start: there, wsrep is off
  mariadb --defaults-file=/sandbox/client.cnf --host=localhost --protocol=socket -N -B \
    -e "select variable_value from information_schema.global_status where variable_name = 'wsrep_ready'" 2>/dev/null || true
}

provider=$(find /usr/lib /usr/lib64 -name libgalera_smm.so 2>/dev/null | head -n 1)
[ -n "$provider" ] || fail 'the image has no Galera provider (libgalera_smm.so)'
start+=(--wsrep-provider="$provider")

trap 'exit 143' TERM INT # PID 1 has no default action
way=found explained=''
claim
look
until [ "$way" != copy ] && [ "$way" != found ]; do
  until decide; do
    explain
    sleep 0.2
  done
  say "$way"
  "by_$way"
done
if [ "$what" = data ] || { [ "$way" = salvage ] && [ "$number" -ge 0 ]; }; then
  start+=(--wsrep-start-position="${from:-$id:$number}")
fi
exec "${start[@]}"

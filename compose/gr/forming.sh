#!/usr/bin/env bash
# Keeps this node in its group: joins the group that exists, or forms it again from the node that holds every transaction.
set -uo pipefail
# A question to a connection that has just ended fails, and does not end this script.
trap '' PIPE

me=$SANDBOX_NODE
read -ra nodes <<<"$SANDBOX_NODES"
account=/sandbox/forming.cnf
members=performance_schema.replication_group_members
answer=''

# What a node says of itself, separated by |: its state; whether it sees a majority; whether this node is in its view;
# whether it has applied all that it received from the group; what it has applied.
question="select concat_ws('|',
  coalesce((select member_state from $members where member_id = @@server_uuid), 'OFFLINE'),
  coalesce((select 2 * sum(member_state in ('ONLINE', 'RECOVERING')) > count(*) from $members), 0),
  coalesce((select sum(member_host = '$me') from $members), 0),
  coalesce((select gtid_subset(received_transaction_set, @@global.gtid_executed)
    from performance_schema.replication_connection_status where channel_name = 'group_replication_applier'), 1),
  replace(@@global.gtid_executed, '\n', ''))"

say() { printf '%(%FT%TZ)T [forming] %s\n' -1 "$*" >&2; }

connect() { # to this node's own server, for good: a question a second costs next to nothing then
  until (: >/dev/tcp/127.0.0.1/3306) 2>/dev/null; do sleep 0.1; done
  coproc own { exec mysql --defaults-file="$account" -h 127.0.0.1 -NB --unbuffered 2>&1; }
}

ask() { # one statement with one line of answer, over the open connection; none where that has ended, which unsets it
  answer=''
  printf '%s;\n' "$1" >&"${own[1]-}" && IFS= read -r answer <&"${own[0]-}"
} 2>/dev/null

tell() { # statements from stdin, to this node's own server
  mysql --defaults-file="$account" -h 127.0.0.1 -NB "$@"
}

answers() { # every other node's answer to the question, as they come; bounded, since a vanished name takes 20 s to look up
  local node asked=()
  for node in "${nodes[@]}"; do
    [ "$node" != "$me" ] || continue
    printf '%s|%s\n' "$node" "$(timeout 2 mysql --defaults-file="$account" -h "$node" -NB -e "$question" 2>/dev/null)" &
    asked+=($!)
  done
  wait "${asked[@]}"
}

start() { # what is about to happen, [the switch that makes it the group's first member]
  say "$1"
  # A member takes one new connection in a tenth of a second and closes any other: of two that join in the same instant, one is turned
  # away. It asks its seeds in turn, ten rounds within that time, and then not before five seconds are over: so it has them ten times.
  # No member starts while a membership that was forced has not been cleared.
  tell --force <<SQL
set @seeds = @@global.group_replication_group_seeds;
set global group_replication_group_seeds = concat(repeat(concat(@seeds, ','), 9), @seeds);
set global group_replication_force_members = '';
set global group_replication_bootstrap_group = ${2:-OFF};
start group_replication;
set global group_replication_bootstrap_group = OFF;
set global group_replication_group_seeds = @seeds;
SQL
}

choose_transfer() { # with the setting clone: a server without data takes a copy of another's, and none takes a second one
  # While a member clones and restarts, the group writes on: were the limit a low one for good, it would have to clone again and again.
  ask "select coalesce(max(if(@@global.gtid_executed = '', 100, 9223372036854775807)), '')
    from information_schema.plugins where plugin_name = 'clone' and plugin_status = 'ACTIVE'"
  [ -z "$answer" ] || tell <<<"set global group_replication_clone_threshold = $answer;"
}

apply_received() { # what came from the group before the server was killed, and is not applied yet
  say 'applying what was received from the group'
  tell <<SQL
start $SANDBOX_REPLICA sql_thread for channel 'group_replication_applier';
select concat('waited: ', wait_for_executed_gtid_set((select received_transaction_set
  from performance_schema.replication_connection_status where channel_name = 'group_replication_applier'), 60));
stop $SANDBOX_REPLICA sql_thread for channel 'group_replication_applier';
SQL
}

drop_channel() { # a pull that was cut short leaves its channel, which no member of a group may have
  ask "select count(*) from performance_schema.replication_connection_configuration where channel_name = 'forming'"
  case $answer in
    0) ;;
    1) tell <<<"stop $SANDBOX_REPLICA for channel 'forming'; reset $SANDBOX_REPLICA all for channel 'forming';" ;;
    *) say "no connection to this node's own server: $answer" ;;
  esac
}

pull() { # node, its transactions: over a channel that lives only as long
  local key value password=''
  while IFS='=' read -r key value; do [ "$key" != password ] || password=$value; done <"$account"
  say "fetching what only $1 holds"
  tell <<SQL
change $SANDBOX_CHANGE to ${SANDBOX_SOURCE}_host = '$1', ${SANDBOX_SOURCE}_user = 'cluster', ${SANDBOX_SOURCE}_password = '$password',
  ${SANDBOX_SOURCE}_auto_position = 1, ${SANDBOX_SOURCE}_connect_retry = 1, get_${SANDBOX_SOURCE}_public_key = 1 for channel 'forming';
start $SANDBOX_REPLICA for channel 'forming';
select concat('waited: ', wait_for_executed_gtid_set('$2', 60));
SQL
  drop_channel
}

unreadable() { # a host that lost its power may leave a relay log that ends inside a transaction: no start gets past it
  local threads=performance_schema.replication_applier_status_by
  ask "select count(*) > 0 from (select channel_name, last_error_number from ${threads}_coordinator
    union all select channel_name, last_error_number from ${threads}_worker) applier
    where channel_name = 'group_replication_applier' and last_error_number = 13121" && [ "$answer" = 1 ]
}

drop_received() { # what could be read is applied; whoever has the rest sends it again
  say 'dropping a relay log that cannot be read to its end'
  tell <<<"reset $SANDBOX_REPLICA for channel 'group_replication_applier';"
}

form() { # state of this node, offline: what to do about it, once
  local node state majority sees applied set all
  local -A held=()
  if unreadable; then
    drop_received
    return 0
  fi
  while IFS='|' read -r node state majority sees applied set; do
    case $state.$majority.$sees.$applied in
      ONLINE.1.0.*)
        choose_transfer
        start "joining the group that $node is in"
        return 0
        ;;
      OFFLINE.*.*.1) held[$node]=$set ;;
    esac
  done < <(answers)
  IFS='|' read -r _ _ _ applied set <<<"$1"
  [ "$applied" = 1 ] || apply_received
  [ "$applied" = 0 ] || held[$me]=$set
  # Never a group while somebody cannot be asked: it may hold what nobody else has, or be in the group.
  [ ${#held[@]} = ${#nodes[@]} ] || return 0
  all=$(IFS=, && printf '%s' "${held[*]}")
  for node in "${nodes[@]}"; do
    ask "select gtid_subset('$all', '${held[$node]}')"
    if [ "$answer" = 1 ]; then
      [ "$node" != "$me" ] || start 'forming the group: no transaction is missing here' ON
      return 0
    fi
  done
  # Killed under load, each may hold something that the others do not: the first node gathers it.
  [ "$me" = "${nodes[0]}" ] || return 0
  for node in "${nodes[@]}"; do
    ask "select gtid_subset('${held[$node]}', @@global.gtid_executed)"
    [ "$answer" = 1 ] || pull "$node" "${held[$node]}"
  done
  return 0
}

forced() { # somebody gives the group another membership, in a statement that lasts until it is there, or until the server has left
  # A stop would wait for that statement, begin in the moment of the leave, and miss it: the server then waits a minute for its own view.
  ask "select count(*) > 0 from performance_schema.threads
    where lower(processlist_info) like 'set global group_replication_force_members%'" && [ "$answer" = 1 ]
}

leave() { # out of a group that does not want this node, or that is no more; it takes the server half a minute
  ! forced || return 0
  say "$1"
  tell <<<'stop group_replication;'
  member=''
}

lost() { # this node sees no majority: whether so many others say that they are in no group that there cannot be one
  local node state gone=0
  while IFS='|' read -r node state _; do [ "$state" != OFFLINE ] || gone=$((gone + 1)); done < <(answers)
  [ $((2 * gone)) -ge ${#nodes[@]} ]
}

rejoining() { # by itself, after its own time-outs
  ask "select count(*) from performance_schema.threads where name = 'thread/group_rpl/THD_autorejoin'" && [ "$answer" = 1 ]
}

repaired() { # somebody replaces this node's data, and holds a lock for as long as that takes (actions/repair.py)
  local answer # not the one to the question before, which is used afterwards
  ask "select is_used_lock('forming') is not null" && [ "$answer" = 1 ]
}

watch() { # as long as the connection lasts
  local member='' alone=0 pause
  drop_channel
  while ask "$question"; do
    pause=1
    case $answer in
      ONLINE\|0* | RECOVERING\|0*) # with the quick time-outs the server gives up by itself; with its own it would wait for ever
        alone=$((alone + 1))
        [ "$alone" -le 10 ] || ! lost || leave 'the group has lost its majority for good'
        ;;
      ONLINE* | RECOVERING*) member=yes alone=0 ;;
      ERROR*) rejoining || repaired || leave 'this node is in no group any more' ;;
      OFFLINE*) # who was a member before was stopped by hand; the more nodes there are to be asked, the less often
        [ -n "$member" ] || repaired || { form "$answer" && pause=0.$((${#nodes[@]} - 1)); }
        ;;
      *) say "$answer" ;;
    esac
    sleep "$pause"
  done
}

while :; do
  connect
  watch
  sleep 0.1
done

#!/bin/bash
# What the words of steps.sh mean. A session is a client that stays open; a FIFO is its input.
# The client itself prints <begin N> and <end N> with the time (\!): servers get nothing but the statements.

# steps.sh says before what the client and the servers are.
client=("${client[@]:?}") servers=("${servers[@]:?}")
trap '' PIPE # a client that has ended
work=$(mktemp -d)
began=0 number=0
declare -A input_of=() pid_of=() host_of=() lost=() under_way=() kept=() kind_of=() detail_of=()
declare -A is_met=([bug]=yes [fixed]=yes) seen_by=()
instead='' not_known=''

now() { date +%s%3N; } # ms

ms_of() { # 500ms or 2s
  case $1 in
    *ms) echo "${1%ms}" ;;
    *) echo "${1%s}000" ;;
  esac
}

say() { # what happened when, from the first step on
  ((began)) || began=$(now)
  printf '%7d ms  %s\n' "$(($(now) - began))" "${*//[$'\n\t']/ }"
}

over() { # VERDICT WHY
  local pid
  printf '\n%s: %s\n' "$1" "$2"
  for pid in "${pid_of[@]}"; do kill -KILL "$pid"; done 2>/dev/null
  rm -rf "$work"
  [ "$1" != reproduced ] || exit 0
  [ "$1" != unknown ] || exit 3 # nor does another repeat know
  [ "$1" = fixed ] || export OTHER=yes
  if ((${RUN:-1} < ${REPEAT:-1})); then
    RUN=$((${RUN:-1} + 1)) exec bash "$0"
  fi
  [ -z "${OTHER-}" ] || exit 3
  exit 1
}

# -- servers

ask() { # HOST OPTION…: what it answers to a client of its own, or why it does not
  timeout 10 "${client[@]}" --host="$1" --connect-timeout=5 --batch "${@:2}" 2>&1
}

server() { # HOST [KIND DETAIL]: it answers; how its state is found
  local end answer
  end=$(($(now) + 300000)) kind_of[$1]=${2-} detail_of[$1]=${3-}
  until answer=$(ask "$1" -N -e 'select version()'); do
    [ "$(now)" -lt "$end" ] || over unknown "$1 does not answer: $answer (docker compose logs $1)"
    sleep 0.2
  done
  echo "$1 is $answer"
}

setup() { # HOST: SQL from standard input
  local answer
  answer=$(ask "$1" -e "$(cat)") || over unknown "$1 cannot be set up: $answer"
}

data() { # HOST: SQL from standard input, sent at once, in the schema of the repro
  local answer
  answer=$({ echo 'delimiter //' && cat && printf '\n//\n'; } |
    "${client[@]}" --host="$1" --default-character-set=utf8mb4 repro 2>&1) ||
    over unknown "the data cannot be made: $answer"
}

generate() { # HOST TABLE COUNT VALUES: rows with {n} as their number
  local n values=''
  for ((n = 1; n <= $3; n++)); do
    values+=${values:+, }"(${4//\{n\}/$n})"
    ((n % 1000 && n < $3)) || { data "$1" <<<"insert into $2 values $values" && values=''; }
  done
}

until_ready() { # HOST…
  local end host
  end=$(($(now) + 300000))
  for host; do
    until state "$host" && [[ $word =~ ^(running|replicating|synced|ONLINE)$ ]]; do
      [ "$(now)" -lt "$end" ] || over unknown "$host is not ready: $word${reason:+, $reason}"
      sleep 0.2
    done
    echo "$host is $word${reason:+, $reason}"
  done
}

everywhere() { # HOST OTHER…: until the others have the data of the first
  local end other
  end=$(($(now) + 60000))
  setup "$1" <<<'create table repro.is_here (id int primary key)'
  for other in "${@:2}"; do
    until [ "$(ask "$other" -N -e "show tables from repro like 'is_here'")" = is_here ]; do
      [ "$(now)" -lt "$end" ] || over unknown "the data of $1 is not at $other"
      sleep 0.05
    done
  done
  setup "$1" <<<'drop table repro.is_here'
}

# -- what has become of a server: into $word and $reason

state() { # HOST
  word='' reason=''
  "state_of_${kind_of[$1]}" "$1"
}

silent() { # HOST ANSWER, which is none: it is down where nothing listens
  word='no answer' reason=$2
  timeout 2 bash -c ": >/dev/tcp/$1/3306" 2>/dev/null
  [ $? != 1 ] || word=down
}

state_of_replication() { # HOST, of replication or alone
  local answer line receiver='' applier='' source='' behind='' delay=0
  local receiver_code=0 receiver_error='' applier_code=0 applier_error=''
  answer=$(ask "$1" -E -e "${detail_of[$1]}") || { silent "$1" "$answer" && return; }
  while IFS= read -r line; do
    [[ $line =~ ^\ *([A-Za-z_]+):\ ?(.*)$ ]] || continue
    case ${BASH_REMATCH[1]} in
      Source_Host | Master_Host) source=${BASH_REMATCH[2]} ;;
      Replica_IO_Running | Slave_IO_Running) receiver=${BASH_REMATCH[2]} ;;
      Replica_SQL_Running | Slave_SQL_Running) applier=${BASH_REMATCH[2]} ;;
      Last_IO_Errno) receiver_code=${BASH_REMATCH[2]} ;;
      Last_IO_Error) receiver_error=${BASH_REMATCH[2]} ;;
      Last_SQL_Errno) applier_code=${BASH_REMATCH[2]} ;;
      Last_SQL_Error) applier_error=${BASH_REMATCH[2]} ;;
      Seconds_Behind_Source | Seconds_Behind_Master) behind=${BASH_REMATCH[2]} ;;
      SQL_Delay) delay=${BASH_REMATCH[2]} ;;
    esac
  done <<<"$answer"
  if [[ $applier_error = *worker* ]]; then # it knows more than the coordinator
    answer=$(ask "$1" -N -e "select last_error_number, last_error_message from
      performance_schema.replication_applier_status_by_worker where last_error_number <> 0 limit 1")
    [ -z "$answer" ] || IFS=$'\t' read -r applier_code applier_error <<<"$answer"
  fi
  if [ -z "$receiver" ]; then
    word=running
  elif [ "$applier" = No ]; then
    word=stopped reason="applier, error $applier_code: $applier_error"
  elif [ "$receiver" = No ]; then
    word=stopped reason="receiver, error $receiver_code: $receiver_error"
  elif [ "$receiver" != Yes ]; then
    word=connecting reason="to $source, error $receiver_code: $receiver_error"
  elif [ "$delay" != 0 ]; then
    word=delayed reason="$behind s behind $source"
  elif [[ $behind =~ ^[1-9] ]]; then
    word=lagging reason="$behind s behind $source"
  else
    word=replicating reason="from $source"
  fi
}

state_of_galera() { # HOST
  local answer name value size=0 component=Disconnected comment='' number='' ready=ON
  answer=$(ask "$1" -N -e "show global status like 'wsrep%'") || { silent "$1" "$answer" && return; }
  while IFS=$'\t' read -r name value; do
    case $name in
      wsrep_cluster_size) size=$value ;;
      wsrep_cluster_status) component=$value ;;
      wsrep_local_state) number=$value ;;
      wsrep_local_state_comment) comment=$value ;;
      wsrep_ready) ready=$value ;;
    esac
  done <<<"$answer"
  reason="state $number ($comment), $component, size $size"
  case $component/$number in
    */5) word=evicted ;;
    Disconnected/*) word=left ;;
    Primary/2) word=donor ;;
    Primary/3) word=joined ;;
    Primary/4) word=synced ;;
    Primary/*) word=joiner ;;
    *) word=non-primary ;;
  esac
  [ "$comment" != Inconsistent ] || word=evicted
  [ "$word/$ready" != synced/OFF ] || word='not ready'
  [ "$word" != synced ] || ((size >= ${detail_of[$1]})) || word="$size of ${detail_of[$1]} members"
}

state_of_group() { # HOST
  local answer own members unreachable error
  answer=$(ask "$1" -N -e "
    select coalesce(max(if(member_id = @@server_uuid, member_state, null)), 'OFFLINE'),
      sum(member_state not in ('OFFLINE', 'ERROR')), sum(member_state = 'UNREACHABLE'),
      coalesce((select max(concat('error ', last_error_number, ': ', last_error_message))
        from performance_schema.replication_applier_status_by_worker
        where channel_name = 'group_replication_applier' and last_error_number <> 0), '')
    from performance_schema.replication_group_members") || { silent "$1" "$answer" && return; }
  IFS=$'\t' read -r own members unreachable error <<<"$answer"
  word=$own reason=$error
  [ "$own" = ONLINE ] || return
  if ((2 * unreachable >= members)); then
    word=blocked reason="$unreachable of $members UNREACHABLE"
  elif ((members - unreachable < ${detail_of[$1]})); then
    word="$((members - unreachable)) of ${detail_of[$1]} members"
  fi
}

# -- sessions

options=(--force --batch --unbuffered -vv --skip-column-names --default-character-set=utf8mb4)
options+=(--loose-system-command --loose-commands) # newer clients have \! and \w only on request

begin_session() { # SESSION HOST
  local input
  end_session "$1"
  mkfifo "$work/$1.in"
  "${client[@]}" "${options[@]}" --host="$2" repro <"$work/$1.in" >"$work/$1.out" 2>&1 &
  pid_of[$1]=$!
  disown # or bash would report its end
  exec {input}>"$work/$1.in"
  input_of[$1]=$input host_of[$1]=$2
  echo 'delimiter //' >&"$input"
}

end_session() { # SESSION
  [ -n "${pid_of[$1]-}" ] || return 0
  local input=${input_of[$1]}
  kill -KILL "${pid_of[$1]}" 2>/dev/null
  exec {input}>&-
  rm -f "$work/$1.in"
  unset "pid_of[$1]" "lost[$1]"
}

send() { # SESSION SQL WANTED…: the number of the statement is in $number
  local warnings=''
  number=$((number + 1))
  [[ " ${*:3} " != *' warning '* ]] || warnings='\W'
  { cat >&"${input_of[$1]}"; } 2>/dev/null <<SQL
\! date '+<begin $number %s%3N>'
$warnings
$2
//
\w
\! date '+<end $number %s%3N>'
SQL
}

ended() { # SESSION NUMBER MS: whether its statement ends within a time
  local end
  end=$(($(now) + $3))
  until grep -qs "^<end $2 " "$work/$1.out" || ! kill -0 "${pid_of[$1]}" 2>/dev/null; do
    [ "$(now)" -lt "$end" ] || return 1
    sleep 0.01
  done
}

hear() { # SESSION NUMBER: what the client has printed of a statement, into came_…
  local line inside='' part='' table='' rows=0 begin=0 end
  end=$(now) came_error='' came_text='' came_rows='' came_count=0 came_affected='' came_warnings=''
  while IFS= read -r line; do
    if [[ $line =~ ^\<(begin|end)\ $2\ ([0-9]+)\>$ ]]; then
      inside=${BASH_REMATCH[1]}
      case $inside in
        begin) begin=${BASH_REMATCH[2]} came_error='' came_text='' ;; # of an earlier statement
        end) end=${BASH_REMATCH[2]} ;;
      esac
    elif [[ $line =~ ^ERROR\ ([0-9]*)[^:]*:\ (.*)$ ]]; then # also of a client that cannot connect
      [ "$inside" = end ] || came_error=${BASH_REMATCH[1]:-0} came_text=${BASH_REMATCH[2]}
    elif [ "$inside" = begin ]; then
      hear_line "$line"
    fi
  done <"$work/$1.out"
  came_ms=$((begin ? end - begin : 0))
  [[ $inside = end && ! $came_error =~ ^(2006|2013|2014)$ ]] || lost[$1]=yes
}

hear_line() { # the statement between two rules, then for each result its rows, its size, an empty line
  case $part/$1 in
    statement/--------------) part=below ;;
    */--------------) part=statement ;;
    statement/* | info/?*) ;;
    below/ | info/) part='' table='' rows=0 ;;
    *)
      if [[ $1 =~ ^Query\ OK(,\ ([0-9]+)\ rows?\ affected)? ]]; then
        part=info came_affected=${BASH_REMATCH[2]}
      elif [[ $1 =~ ^(Empty\ set|$rows\ rows?\ in\ set) ]]; then
        part=info came_rows=$table came_count=$rows came_affected=''
      elif [[ $1 =~ ^(Note|Warning|Error)\ \(Code\ ([0-9]+)\): ]]; then
        came_warnings+=${came_warnings:+ }${BASH_REMATCH[2]}
      else
        ((rows++)) && table+=$'\n'
        table+=$1
      fi
      ;;
  esac
}

rows_text() { # (1 | 10), (2 | NULL)
  local line text='' shown=0
  ((came_count)) || { echo 'no row' && return; }
  while IFS= read -r line; do
    ((shown++ < 3)) && text+="${text:+, }(${line//$'\t'/ | })"
  done <<<"$came_rows"
  ((came_count <= 3)) || text+=" and $((came_count - 3)) more"
  echo "$text"
}

came() { # in a few words
  if [ -n "$came_error" ]; then
    echo "error $came_error: $came_text"
  elif [[ -n $came_affected && $came_count = 0 ]]; then
    echo "ok, $came_affected rows affected"
  else
    rows_text
  fi
}

differs() { # WANTED…: into $problem how what came is not that; nothing wanted: no error
  local code wanted rows=$came_rows
  problem=''
  if [ "${1-}" = error ]; then
    [[ -n $came_error && (" $2 " == *" $came_error "* || $2 = any) ]] || problem=$(came)
    return
  fi
  [ -z "$came_error" ] || problem=$(came)
  while [ -z "$problem" ] && (($#)); do
    wanted=$1
    shift
    case $wanted in
      affected) [ "$came_affected" = "$1" ] || problem="${came_affected:-no} rows affected" ;;
      warning) for code in $1; do
        [[ " $came_warnings " == *" $code "* ]] || problem="without warning $code"
      done ;;
      matches) ((came_count)) && grep -qE -e "$1" <<<"$rows" || problem=$(rows_text) ;;
      rows) # one argument each, to the last
        wanted=$(printf '%s\n' "$@")
        [[ $came_count = "$#" && ${rows//$'\t'/ | } = "$wanted" ]] || problem=$(rows_text)
        return
        ;;
      rows_in_any_order)
        wanted=$(printf '%s\n' "$@" | sort)
        [[ $came_count = "$#" && $(sort <<<"${rows//$'\t'/ | }") = "$wanted" ]] || problem=$(rows_text)
        return
        ;;
    esac
    shift
  done
}

# -- steps: [as NAME] [within TIME | waits TIME] [what it must come to]

sql() { # STEP SESSION[@HOST] SQL …
  local session=${2%%@*} host=''
  [ "$session" = "$2" ] || host=${2#*@}
  say "$1  $2: $3"
  [ -z "${under_way[$session]-}" ] || over unknown "step $1: $session still waits for its statement"
  if [ -z "${pid_of[$session]-}" ] || [ -n "${lost[$session]-}" ] ||
    [[ -n $host && $host != "${host_of[$session]}" ]]; then
    begin_session "$session" "${host:-${host_of[$session]}}"
  fi
  send "$session" "$3" "${@:4}"
  settle "$1" "$session" "$number" "${@:4}"
}

all() { # STEP SQL …: on every server at once
  local host problems='' first=$number
  say "$1  all: $2"
  for host in "${servers[@]}"; do
    begin_session "all@$host" "$host"
    send "all@$host" "$2" "${@:3}"
  done
  for host in "${servers[@]}"; do
    first=$((first + 1))
    settle "$1" "all@$host" "$first" "${@:3}"
    problems=${problems:-$problem}
    [ -z "$problems$came_error" ] || return 0 # what came there is what the step came to
  done
}

ends() { # STEP SESSION …
  say "$1  ends: $2"
  [ -n "${under_way[$2]-}" ] || over unknown "step $1: $2 has no statement under way"
  settle "$1" "$2" "${under_way[$2]}" "${@:3}"
}

settle() { # STEP SESSION NUMBER …
  local step=$1 session=$2 statement=$3 name='' limit=30s waits=''
  shift 3
  while :; do
    case ${1-} in
      as) name=$2 ;;
      within) limit=$2 ;;
      waits) limit=$2 waits=yes ;;
      *) break ;;
    esac
    shift 2
  done
  came_blocked='' came_ended='' problem=''
  if ended "$session" "$statement" "$(ms_of "$limit")"; then
    hear "$session" "$statement"
    came_ended=yes
    unset "under_way[$session]"
    if [ -n "$waits" ]; then problem='it does not wait' came_blocked=no; else differs "$@"; fi
  else
    under_way[$session]=$statement came_ms=0 came_error='' came_rows='' came_count=0
    came_affected='' came_warnings='' came_text='' came_blocked=${waits:+yes}
    [ -n "$waits" ] || problem="not ended after $limit"
  fi
  if [ -n "$came_ended" ]; then say "   $(came)"; else say "   still waits after $limit"; fi
  step_is_over "$step" "$name"
}

step_is_over() { # STEP NAME: without a name it must have gone as its own words say
  if [ -n "$2" ]; then
    keep "$2"
  elif [ -n "$problem" ]; then
    over neither "step $1 did not go as it should: $problem"
  fi
}

look_again() { # HOST MS SQL …: asks until it comes to what is wanted, or the time is over
  local session="query@$1" host=$1 limit=$2 text=$3 end
  shift 3
  end=$(($(now) + limit))
  while :; do
    [ -n "${pid_of[$session]-}" ] && [ -z "${lost[$session]-}" ] || begin_session "$session" "$host"
    send "$session" "$text" "$@"
    if ended "$session" "$number" 10000; then
      hear "$session" "$number"
      differs "$@"
    else
      end_session "$session"
      came_error='' problem='no answer'
    fi
    [ -n "$problem" ] && [ "$(now)" -lt "$end" ] || return 0
    sleep 0.1
  done
}

ask_until() { # STEP HOST TIME SQL [as NAME] …
  local step=$1 host=$2 limit=$3 text=$4 name=''
  say "$1  until @$2: $4"
  shift 4
  [ "$1" != as ] || { name=$2 && shift 2; }
  came_blocked='' came_ended=yes
  look_again "$host" "$(ms_of "$limit")" "$text" "$@"
  say "   ${problem:-$(came)}"
  [ -z "$problem" ] || problem="after $limit still: $problem"
  step_is_over "$step" "$name"
}

pause() { # STEP TIME
  local ms
  say "$1  wait: $2"
  ms=$(ms_of "$2")
  sleep "$((ms / 1000)).$(printf '%03d' "$((ms % 1000))")"
}

restart() { # STEP HOST TIME: server.sh starts it again
  local end answer
  say "$1  restart: $2"
  end=$(($(now) + $(ms_of "$3")))
  answer=$(ask "$2" -N -e "select @@global.server_id; shutdown") || [[ $answer = [0-9]* ]] ||
    over unknown "step $1: $2 cannot be shut down: $answer"
  until state "$2" && [ "$word" = down ]; do
    [ "$(now)" -lt "$end" ] || over unknown "step $1: $2 has not ended after $3"
    sleep 0.05
  done
  until_ready "$2"
}

# -- expectations: into $met yes, no or unknown, and into $seen what was seen

keep() { # NAME: what a step came to
  local field
  for field in error text rows count affected warnings blocked ended ms; do
    local variable=came_$field
    kept["$1/$field"]=${!variable}
  done
}

recall() { # NAME
  local field
  [ -n "${kept["$1/count"]+yes}" ] || { met=unknown seen="$1 was not reached" && return 1; }
  for field in error text rows count affected warnings blocked ended ms; do
    printf -v "came_$field" '%s' "${kept["$1/$field"]}"
  done
}

bug() { look bug "$@"; }

fixed() { look fixed "$@"; }

look() { # SIDE KIND …
  met=no seen=''
  "expect_$2" "${@:3}"
  say "$1: ${*:2}: $met ($seen)"
  seen_by[$1]+="${seen_by[$1]:+; }$seen"
  [ "$met" != yes ] || return 0
  is_met[$1]=no instead+="${instead:+; }$seen"
  [ "$met" != unknown ] || not_known=${not_known:-$seen}
}

expect_result() { # STEP blocked | STEP WANTED…
  local step=$1
  recall "$1" || return 0
  shift
  if [[ ${1-} = blocked || ${1-} = not_blocked ]]; then
    [[ $1 = blocked && $came_blocked = yes || $1 = not_blocked && $came_blocked != yes ]] && met=yes
    seen="$step waited"
    [ "$came_blocked" = yes ] || seen="$step did not wait"
  elif [ -z "$came_ended" ]; then
    seen="$step has not ended"
  else
    differs "$@"
    [ -n "$problem" ] || met=yes
    seen="$step: ${problem:-$(came)}"
  fi
}

expect_hang() { # STEP
  recall "$1" || return 0
  seen="$1 ended after $came_ms ms"
  [ -n "$came_ended" ] || met=yes seen="$1 has not ended"
}

expect_time() { # STEP [at_least MS] [at_most MS]
  recall "$1" || return 0
  [ -n "$came_ended" ] || { met=unknown seen="$1 has not ended" && return; }
  met=yes seen="$1 took $came_ms ms"
  shift
  while (($#)); do
    [ "$1" != at_least ] || ((came_ms >= $2)) || met=no
    [ "$1" != at_most ] || ((came_ms <= $2)) || met=no
    shift 2
  done
}

expect_ratio() { # STEP OTHER [at_least PERCENT] [at_most PERCENT]
  local other
  recall "$2" || return 0
  other=$came_ms
  recall "$1" || return 0
  [[ -n $came_ended && $other != 0 ]] || { met=unknown seen="$1 or $2 has not ended" && return; }
  met=yes seen="$1 took $came_ms ms, $2 took $other ms"
  shift 2
  while (($#)); do
    [ "$1" != at_least ] || ((100 * came_ms >= $2 * other)) || met=no
    [ "$1" != at_most ] || ((100 * came_ms <= $2 * other)) || met=no
    shift 2
  done
}

expect_query() { # HOST [within TIME] SQL WANTED…
  local host=$1 limit=0s
  shift
  [ "$1" != within ] || { limit=$2 && shift 2; }
  look_again "$host" "$(ms_of "$limit")" "$@"
  seen="$host: ${problem:-$(came)}"
  [ -n "$problem" ] || met=yes
  [ "$problem" != 'no answer' ] || met=unknown
}

expect_explain() { # HOST SQL TEXT
  look_again "$1" 0 "explain $2"
  seen="$1: ${came_rows//[$'\t\n']/ }"
  [ -z "$problem" ] || { met=unknown seen="$1: $problem" && return; }
  [[ ${came_rows//$'\n'/$'\t'} != *"$3"* ]] || met=yes
}

expect_state() { # HOST [within TIME] [because PATTERN] STATE…
  local host=$1 end one pattern=''
  shift
  end=$(now)
  [ "$1" != within ] || { end=$((end + $(ms_of "$2"))) && shift 2; }
  [ "$1" != because ] || { pattern=$2 && shift 2; }
  while :; do
    state "$host"
    for one; do
      [[ $word = "$one" && $reason =~ $pattern ]] && met=yes
    done
    [ "$met" = no ] && [ "$(now)" -lt "$end" ] || break
    sleep 0.2
  done
  seen="$host is $word${reason:+ ($reason)}"
}

expect_log() { # HOST [within TIME] [absent] PATTERN
  local host=$1 end line absent=''
  shift
  end=$(now)
  [ "$1" != within ] || { end=$((end + $(ms_of "$2"))) && shift 2; }
  [ "$1" != absent ] || { absent=yes && shift; }
  until line=$(new_log "$host" | grep -m 1 -E -e "$1") || [ "$(now)" -ge "$end" ]; do
    sleep 0.2
  done
  seen="$host: ${line:-no such line}"
  [[ -n $line && -z $absent || -z $line && -n $absent ]] && met=yes
}

expect_crash() { # HOST SIGNAL FRAME…: what a server writes last may come a little later
  local end
  end=$(($(now) + 1000))
  until find_crash "$@" || [ "$(now)" -ge "$end" ]; do sleep 0.1; done
}

find_crash() { # HOST SIGNAL FRAME…
  local line crashed='' frames=("${@:3}")
  seen="$1 has not crashed"
  while IFS= read -r line; do
    if [[ $line =~ got\ signal\ ([0-9]+) ]]; then
      seen="$1: $line"
      [[ $2 != any && $2 != "${BASH_REMATCH[1]}" ]] || crashed=yes
    fi
    [ -z "$crashed" ] || [ -z "${frames[0]-}" ] || [[ $line != *"${frames[0]}"* ]] ||
      frames=("${frames[@]:1}")
  done < <(new_log "$1")
  [[ -n $crashed && -z ${frames[0]-} ]] && met=yes
}

mark_logs() { # what stands in them now is from before the first step
  local host
  for host in "${servers[@]}"; do detail_of[$host/log]=$(wc -l <"/logs/$host.log"); done
}

new_log() { # HOST
  tail -n "+$((${detail_of[$1/log]} + 1))" "/logs/$1.log"
}

verdict() {
  if [ "${is_met[bug]}/${is_met[fixed]}" = yes/yes ]; then
    over unknown 'all came that is expected of the bug, and all that is expected without it'
  elif [ "${is_met[bug]}" = yes ]; then
    over reproduced "${seen_by[bug]}"
  elif [ "${is_met[fixed]}" = yes ]; then
    over fixed "${seen_by[fixed]}"
  elif [ -n "$not_known" ]; then
    over unknown "$not_known"
  fi
  over neither "$instead"
}

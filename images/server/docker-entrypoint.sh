#!/usr/bin/env bash
# Entry point of the servers built here: fills an empty data directory as the published images do, then becomes the server.
# What differs between MySQL and MariaDB is in family.sh.
set -euo pipefail
shopt -s nullglob

# shellcheck source=images/mysql/family.sh
. /usr/local/lib/docker-entrypoint/family.sh
# shellcheck source=images/server/template.sh
. /usr/local/lib/docker-entrypoint/template.sh

variables='' data='' socket='' root_password='' database='' temporary=''

say() { printf '%(%FT%TZ)T [entrypoint] %s\n' -1 "$*" >&2; }

fail() {
  say "ERROR: $*"
  exit 1
}

value_of() { # name [default]: the variable with the family's prefix, or the contents of the file that its _FILE twin names
  local prefix variable file
  for prefix in "${prefixes[@]}"; do
    variable=${prefix}_$1 file=${prefix}_$1_FILE
    [ -z "${!variable:-}" ] || [ -z "${!file:-}" ] || fail "both $variable and $file are set: they exclude each other"
    if [ -n "${!variable:-}" ]; then
      printf '%s' "${!variable}"
      return
    elif [ -n "${!file:-}" ]; then
      [ -r "${!file}" ] || fail "$file names ${!file}, which user $(id -un) cannot read"
      printf '%s' "$(<"${!file}")"
      return
    fi
  done
  printf '%s' "${2:-}"
}

is_server() { # only a start of the server is prepared: not its --help, not another program
  local argument
  [[ ${1##*/} = mysqld || ${1##*/} = mariadbd ]] || return 1
  for argument; do
    case $argument in --help | --verbose | --version | -\? | -V) return 1 ;; esac
  done
}

read_configuration() { # of the server itself, so that files and arguments count alike
  variables=$("$@" --verbose --help 2>/tmp/configuration.err) || {
    cat /tmp/configuration.err >&2
    fail "the server refuses its configuration: $*"
  }
  rm -f /tmp/configuration.err
  data=$(awk '/^-+ -+$/ {table = 1} table && $1 == "datadir" {sub(/^datadir +/, ""); print; exit}' <<<"$variables")
  socket=$(awk '/^-+ -+$/ {table = 1} table && $1 == "socket" {print $2; exit}' <<<"$variables")
  data=${data%/}
}

locate() { # data directory and socket; cheaply, since the server's own answer takes a quarter of a second
  local word
  for word in $("$1" --print-defaults "${@:2}" 2>/dev/null); do
    case $word in
      --datadir=*) data=${word#*=} data=${data%/} ;;
      --socket=*) socket=${word#*=} ;;
    esac
  done
  [ -n "$data" ] && [ -n "$socket" ] || read_configuration "$@"
}

become_mysql() { # started as root: own the folders, then start over as the server's user
  mkdir -p "$data" "${socket%/*}"
  find "$data" "${socket%/*}" ! -user mysql -exec chown mysql:mysql {} +
  exec setpriv --reuid mysql --regid mysql --init-groups "$0" "$@"
}

clear_unfinished() { # a first start that was cut short would leave root without a password: start again from nothing
  [ -e "$data/.initialising" ] || return 0
  say "an earlier first start did not finish; starting over"
  find "$data" -mindepth 1 ! -name .initialising -delete
}

sql_text() { # a string as an SQL literal (sql_mode is empty where it is used)
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\'\'}"
}

client_options() { # an option file, read through a pipe: the password is in no command line and no environment
  local password=${root_password//\\/\\\\}
  printf '[client]\npassword="%s"\n' "${password//\"/\\\"}"
}

# shellcheck disable=SC2120  # scripts of /docker-entrypoint-initdb.d pass options
docker_process_sql() { # SQL from stdin, to the temporary server; the name is the published contract's
  "$client" --defaults-extra-file=<(client_options) ${client_arguments[@]+"${client_arguments[@]}"} --protocol=socket --socket="$socket" --user=root --host=localhost \
    ${database:+--database="$database"} "$@"
}

set_up_accounts() { # the first connection still has no password; nothing of root's goes to the binary log
  local user password grant=${database//_/\\_}
  user=$(value_of USER)
  password=$(value_of PASSWORD)
  {
    echo "SET SESSION sql_log_bin = 0, sql_mode = '';"
    accounts_sql "$(sql_text "$root_password")" "$(value_of ROOT_HOST %)"
    echo "SET SESSION sql_log_bin = 1;"
    [ -z "$database" ] || echo "CREATE DATABASE IF NOT EXISTS \`$database\`;"
    if [ -n "$user" ] && [ -n "$password" ]; then
      echo "CREATE USER $(sql_text "$user")@'%' IDENTIFIED BY $(sql_text "$password");"
      [ -z "$database" ] || echo "GRANT ALL ON \`$grant\`.* TO $(sql_text "$user")@'%';"
    fi
  } | "$client" --no-defaults ${client_arguments[@]+"${client_arguments[@]}"} --protocol=socket --socket="$socket" --user=root --host=localhost
}

load_time_zones() {
  [ -z "$(value_of INITDB_SKIP_TZINFO)" ] || return 0
  { echo 'SET SESSION sql_log_bin = 0;' && time_zones_sql; } | database=mysql docker_process_sql
}

run_first_start_files() {
  local file
  for file in /docker-entrypoint-initdb.d/*; do
    say "running $file"
    case $file in
      *.sh) run_script "$file" ;;
      *.sql) docker_process_sql <"$file" ;;
      *.sql.gz) gzip -dc "$file" | docker_process_sql ;;
      *) say "ignoring $file: neither .sh nor .sql nor .sql.gz" ;;
    esac
  done
}

run_script() ( # a subshell: what a script sees and sets, the password above all, does not reach the server's environment
  for prefix in "${prefixes[@]}"; do export "${prefix}_ROOT_PASSWORD=$root_password"; done
  # shellcheck source=/dev/null
  if [ -x "$1" ]; then "$1"; else . "$1"; fi
)

start_temporary() { # answers on the socket alone; the socket exists a little before the server accepts, and the client waits for that
  rm -f "$socket" # left by a first start that was killed
  "$@" "${temporary_options[@]}" --skip-networking --socket="$socket" &
  temporary=$!
  until [ -S "$socket" ]; do
    kill -0 "$temporary" 2>/dev/null || fail 'the temporary server stopped; its log is above'
    sleep 0.02
  done
}

stop_temporary() {
  kill "$temporary"
  wait "$temporary" || fail 'the temporary server did not stop cleanly; its log is above'
}

initialise() {
  [ -n "$variables" ] || read_configuration "$@"
  root_password=$(value_of ROOT_PASSWORD)
  database=$(value_of DATABASE)
  [ -n "$root_password" ] || [ -n "$(value_of ALLOW_EMPTY_PASSWORD)$(value_of ALLOW_EMPTY_ROOT_PASSWORD)" ] ||
    fail "the data directory is empty and no password is given: set ${prefixes[0]}_ROOT_PASSWORD or ${prefixes[0]}_ROOT_PASSWORD_FILE"
  : >"$data/.initialising"
  say 'initialising the data directory'
  fill_from_template "$variables" || create_system_tables "$@"
  start_temporary "$@"
  set_up_accounts
  load_time_zones
  run_first_start_files
  stop_temporary
  rm "$data/.initialising"
  say 'first start done'
}

initialise_or_stop() { # a first start that is stopped may stop at once: the next one starts over
  trap 'exit 143' TERM INT
  initialise "$@" &
  wait $! || fail 'the first start failed; the reason is above'
  trap - TERM INT
}

main() {
  case ${1:--} in -*) set -- "$server" "$@" ;; esac
  if is_server "$@"; then
    locate "$@"
    [ "$(id -u)" != 0 ] || become_mysql "$@"
    clear_unfinished
    [ -d "$data/mysql" ] || initialise_or_stop "$@"
  fi
  exec "$@"
}

main "$@"

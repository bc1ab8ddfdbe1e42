#!/usr/bin/env bash
# Entry point of MySQL Router: with MYSQL_HOST bootstraps from that cluster, then becomes the router; any other command is run as it is.
# MYSQL_HOST, MYSQL_PORT, MYSQL_USER, MYSQL_PASSWORD (or MYSQL_PASSWORD_FILE); MYSQL_INNODB_CLUSTER_MEMBERS: wait for so many ONLINE;
# MYSQL_CREATE_ROUTER_USER=0: use MYSQL_USER at run time as well; MYSQL_ROUTER_BOOTSTRAP_EXTRA_OPTIONS
set -euo pipefail

folder=/tmp/mysqlrouter
host=${MYSQL_HOST:-} port=${MYSQL_PORT:-3306} user=${MYSQL_USER:-root} password=${MYSQL_PASSWORD:-}

say() { printf '%(%FT%TZ)T [entrypoint] %s\n' -1 "$*" >&2; }

client_options() {
  local text=${password//\\/\\\\}
  printf '[client]\npassword="%s"\n' "${text//\"/\\\"}"
}

online_members() {
  mysql --defaults-extra-file=<(client_options) --host="$host" --port="$port" --user="$user" --connect-timeout=2 -N -e \
    "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'" 2>&1
}

wait_for_cluster() { # two minutes: longer than a group of three needs to form from nothing
  local answer='' deadline=$((SECONDS + 120)) wanted=${MYSQL_INNODB_CLUSTER_MEMBERS:-1}
  until answer=$(online_members) && [ "$answer" -ge "$wanted" ]; do
    if ((SECONDS >= deadline)); then
      say "ERROR: $host:$port does not show $wanted members ONLINE after 120 s; last answer: $answer"
      exit 1
    fi
    sleep 0.5
  done
}

bootstrap() {
  local extra=() account=()
  read -r -a extra <<<"${MYSQL_ROUTER_BOOTSTRAP_EXTRA_OPTIONS:-}"
  [ "${MYSQL_CREATE_ROUTER_USER:-1}" != 0 ] || account=(--account="$user" --account-create=never)
  # Asked for once, and a second time where the account is given.
  printf '%s\n%s\n' "$password" "$password" |
    mysqlrouter --bootstrap "$user@$host:$port" --directory "$folder" --force ${account[@]+"${account[@]}"} ${extra[@]+"${extra[@]}"}
  # No folder means the console.
  sed -i 's/^logging_folder=.*/logging_folder=/' "$folder/mysqlrouter.conf"
}

if [ "$*" = mysqlrouter ] && [ -n "$host" ]; then
  [ -z "${MYSQL_PASSWORD_FILE:-}" ] || password=$(<"$MYSQL_PASSWORD_FILE")
  unset MYSQL_PASSWORD
  wait_for_cluster
  bootstrap
  exec mysqlrouter --config "$folder/mysqlrouter.conf"
fi
exec "$@"

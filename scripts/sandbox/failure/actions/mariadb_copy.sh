#!/bin/bash
# usage: bash -c TEXT bash HOST PORT; in a MariaDB server's container: its data becomes that of the server at HOST.
# Prints the GTID position of what it holds then.
set -euo pipefail
export LC_ALL=C
host=$1 port=$2
options=--defaults-file=/sandbox/client.cnf
client=$(command -v mariadb || command -v mysql)
dump=$(command -v mariadb-dump || command -v mysqldump)
comment=$(mktemp)
trap 'rm -f "$comment"' EXIT

ask() { # statements; none of them is in the binary log
  "$client" "$options" -N -B --init-command='SET SESSION sql_log_bin = 0' -e "$1"
}

forget_own_data() {
  local statements
  # Its source stays written down: MaxScale would let a server without one follow the writer at once, from anywhere.
  ask 'STOP ALL SLAVES'
  statements=$(ask "SELECT CONCAT('DROP DATABASE \`', schema_name, '\`;') FROM information_schema.schemata
    WHERE schema_name NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')")
  ask "$statements"
}

dumped() { # the donor's data; the comment with its position, at the top or at the end, goes into a file as well
  "$dump" "$options" --host="$host" --port="$port" --protocol=tcp --skip-ssl-verify-server-cert \
    --all-databases --ignore-table=mysql.gtid_slave_pos --single-transaction --master-data=2 --gtid \
    --routines --events --triggers --hex-blob --quick --flush-privileges |
    sed "/^-- SET GLOBAL gtid_slave_pos=/w $comment"
}

forget_own_data
dumped | "$client" "$options" --init-command='SET SESSION sql_log_bin = 0'
position=$(sed -n "s/.*gtid_slave_pos='\([^']*\)'.*/\1/p" "$comment")
[ -n "$position" ] || { echo 'the dump has no GTID position' >&2 && exit 1; }
ask "FLUSH PRIVILEGES; RESET MASTER; SET GLOBAL gtid_slave_pos = '$position'"
echo "$position"

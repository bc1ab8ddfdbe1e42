# shellcheck shell=bash disable=SC2034,SC2154
# What docker-entrypoint.sh needs to know about MariaDB.

server=mariadbd
client=mariadb
# From 11.4 on the client refuses a server without TLS, which a configuration may ask for.
client_arguments=(--skip-ssl-verify-server-cert)
prefixes=(MARIADB MYSQL)

# The temporary server: nothing that the result depends on, only what would take time or be in the way.
temporary_options=(--wsrep-on=OFF --skip-slave-start --read-only=OFF --expire-logs-days=0 --default-time-zone=SYSTEM
  --loose-innodb-buffer-pool-load-at-startup=OFF)

# The settings that shape the files of a fresh data directory.
shaping=(aria-log-dir-path aria-log-file-size character-set-server collation-server default-storage-engine
  innodb-checksum-algorithm innodb-compression-algorithm innodb-data-file-path innodb-data-home-dir
  innodb-default-row-format innodb-doublewrite innodb-encrypt-log innodb-encrypt-tables innodb-file-per-table
  innodb-log-file-size innodb-log-group-home-dir innodb-page-size innodb-undo-directory innodb-undo-tablespaces
  lower-case-table-names old-mode)

create_system_tables() { # an installer's option cannot hold white space
  local argument arguments=()
  for argument in "${@:2}"; do
    [[ $argument =~ [[:space:]] ]] || arguments+=("$argument")
  done
  mariadb-install-db --datadir="$data" --auth-root-authentication-method=normal --skip-test-db --rpm ${arguments[@]+"${arguments[@]}"} \
    --wsrep-on=OFF --skip-log-bin --read-only=OFF --expire-logs-days=0 --default-time-zone=SYSTEM \
    --loose-innodb-buffer-pool-load-at-startup=OFF --loose-innodb-buffer-pool-dump-at-shutdown=OFF >&2
}

forget_own() { # folder: MariaDB leaves nothing there that two servers could not share
  :
}

accounts_sql() { # password literal, root's remote host; the installer leaves root without a password at 127.0.0.1, ::1 and the host's name
  printf '%s\n' "DELETE FROM mysql.global_priv WHERE Host <> 'localhost';" \
    "DELETE FROM mysql.proxies_priv WHERE Host <> 'localhost';" 'FLUSH PRIVILEGES;' \
    "SET PASSWORD FOR 'root'@'localhost' = PASSWORD($1);"
  if [ -n "$2" ] && [ "$2" != localhost ]; then
    printf '%s\n' "CREATE USER 'root'@'$2' IDENTIFIED BY $1;" "GRANT ALL ON *.* TO 'root'@'$2' WITH GRANT OPTION;" \
      "GRANT PROXY ON ''@'%' TO 'root'@'$2' WITH GRANT OPTION;"
  fi
}

time_zones_sql() { mariadb-tzinfo-to-sql --skip-write-binlog /usr/share/zoneinfo 2>/dev/null; }

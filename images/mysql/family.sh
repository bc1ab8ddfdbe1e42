# shellcheck shell=bash disable=SC2034
# What docker-entrypoint.sh needs to know about MySQL.

server=mysqld
client=mysql
client_arguments=()
prefixes=(MYSQL)

# The temporary server: nothing that the result depends on, only what would take time or be in the way.
temporary_options=(--mysqlx=OFF --skip-replica-start --read-only=OFF --super-read-only=OFF)

# The settings that shape the files of a fresh data directory.
shaping=(authentication-policy character-set-server collation-server default-table-encryption innodb-data-file-path innodb-data-home-dir
  innodb-default-row-format innodb-directories innodb-doublewrite innodb-doublewrite-dir innodb-file-per-table innodb-log-group-home-dir
  innodb-page-size innodb-redo-log-capacity innodb-redo-log-encrypt innodb-undo-directory innodb-undo-log-encrypt
  lower-case-table-names performance-schema)

create_system_tables() { "$@" --initialize-insecure; }

forget_own() { # folder: what each server makes for itself at a first start, its UUID, keys, certificates and spare redo files
  rm -f "$1/auto.cnf" "$1"/*.pem "$1"/\#innodb_redo/*_tmp
}

accounts_sql() { # password literal, root's remote host
  printf '%s\n' "ALTER USER 'root'@'localhost' IDENTIFIED BY $1;"
  if [ -n "$2" ] && [ "$2" != localhost ]; then
    printf '%s\n' "CREATE USER 'root'@'$2' IDENTIFIED BY $1;" "GRANT ALL ON *.* TO 'root'@'$2' WITH GRANT OPTION;"
  fi
}

time_zones_sql() { mysql_tzinfo_to_sql /usr/share/zoneinfo 2>/dev/null; }

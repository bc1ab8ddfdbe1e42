#!/bin/bash
# Makes the files of a server in this image a server under the contract of the published images. Run once, while it is built.
# usage: set-up.sh mysql|mariadb
# A library that neither the tree nor Debian has is named in a line: `sandbox-missing: <soname> <program>`; of the server, its client
# or its installer that ends the build, of a plugin it is only said.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
here=/usr/local/lib/sandbox-binary entrypoint=/usr/local/lib/docker-entrypoint base=/usr/local/mysql
family=$1

# shellcheck source=images/binary/libraries.sh
. "$here/libraries.sh"
# shellcheck source=images/mysql/family.sh
. "$here/$family.sh"
# shellcheck source=images/server/template.sh
. "$entrypoint/template.sh"

essential() { # the programs without which there is no server
  local name
  for name in "$server" "$client" my_print_defaults; do command -v "$name" || true; done
}

install_libraries() {
  local needed before=''
  while
    needed=$({ essential && plugins; } | missing_of_all)
    [ -n "$needed" ] && [ "$needed" != "$before" ]
  do
    before=$needed
    ! grep -qE '^(GLIBC|GLIBCXX|CXXABI)_' <<<"$needed" || break # no package brings another C library
    install_missing "$needed" || break
  done
  plugins | missing_of_all | sed 's/^/sandbox-without: /'
  needed=$(essential | missing_of_all)
  [ -z "$needed" ] || {
    while IFS= read -r line; do echo "sandbox-missing: $line"; done <<<"$needed"
    exit 1
  }
}

plugins() {
  find "$base/lib" /usr/lib/mysql /usr/lib64/mysql -name '*.so' -type f 2>/dev/null || true
}

option_file() { # the first file of the usual two that this server reads
  "$server" --no-defaults --verbose --help 2>/dev/null |
    grep -oE '/etc/(mysql/)?my\.cnf' | head -n 1
}

configure() {
  local file
  file=$(option_file) || true
  file=${file:-/etc/my.cnf}
  mkdir -p /etc/mysql/conf.d /etc/my.cnf.d /docker-entrypoint-initdb.d "${file%/*}"
  cp "$here/$family.cnf" "$file"
  echo '!includedir /etc/my.cnf.d/' >>"$file"
  [ ! -d "$base" ] || printf '\n[mysqld]\nbasedir = %s\n' "$base" >>"$file"
  chmod 644 "$file"
}

link_programs() { # of a tree that stands by itself; its clients look for the socket in /tmp, where no option file is read
  [ -d "$base" ] || return 0
  ln -s /run/mysqld/mysqld.sock /tmp/mysql.sock
  local installer
  installer=$(command -v mariadb-install-db || true)
  [ "${installer#"$base"}" != "$installer" ] || return 0
  # Run from elsewhere it does not know where its server is.
  printf '#!/bin/sh\nexec %s --basedir=%s "$@"\n' "$installer" "$base" >/usr/local/bin/mariadb-install-db
  chmod 755 /usr/local/bin/mariadb-install-db
}

main() {
  install_libraries
  rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log
  install -d -o mysql -g mysql -m 1777 /var/lib/mysql /var/run/mysqld
  install -d -o mysql -g mysql -m 0750 /var/lib/mysql-files /var/log/mysql
  configure
  link_programs
  cp "$here/$family.sh" "$entrypoint/family.sh"
  ln -s /usr/local/bin/docker-entrypoint.sh /docker-entrypoint.sh
  make_template
}

main

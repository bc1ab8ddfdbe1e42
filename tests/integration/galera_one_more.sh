#!/bin/bash
# In a container with the volumes of a Galera node that was killed: applies one transaction more, as a cluster of its own, and dies again.
set -euo pipefail
cd /var/lib/mysql

set_state() { sed -i "s/^seqno:.*/seqno: $1/; s/^safe_to_bootstrap:.*/safe_to_bootstrap: $2/" grastate.dat; }

ask() { mariadb --socket=/tmp/socket -N -B -e "$1"; }

server=(mariadbd --no-defaults --user=mysql --datadir=/var/lib/mysql --socket=/tmp/socket --skip-networking --skip-grant-tables
  --log-bin=binlog --binlog-format=row --log-slave-updates --innodb-autoinc-lock-mode=2 --wsrep-on=ON --wsrep-gtid-mode=ON
  --wsrep-provider="$(find /usr/lib -name libgalera_smm.so | head -n 1)" --wsrep-cluster-address=gcomm://)

cp -p gvwstate.dat /tmp/view
position=$("${server[@]}" --wsrep-recover 2>&1 | sed -n 's/.*Recovered position: *//p')
uuid_seqno=${position%%,*}
set_state "${uuid_seqno##*:}" 1
rm gvwstate.dat
"${server[@]}" --wsrep-new-cluster --wsrep-start-position="$position" &
until [ "$(ask "select variable_value from information_schema.global_status where variable_name = 'wsrep_ready'" || true)" = ON ]; do sleep 0.2; done
ask 'insert into sbtest.mine values (99)'
kill -KILL $!
cp -p /tmp/view gvwstate.dat
set_state -1 0

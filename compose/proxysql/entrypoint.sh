#!/bin/sh
# ProxySQL, and beside it what looks after its hostgroups or its reads, where the stack has that.
set -eu
[ ! -e /sandbox/routing ] || bash /sandbox/routing &
[ ! -e /sandbox/reads ] || sh /sandbox/reads &
# --initial: the file is the configuration, at every start; the version check would leave the private network.
exec proxysql -f --initial --idle-threads --no-version-check -c /etc/proxysql.cnf -D /var/lib/proxysql

#!/bin/bash
# What this node tells a node that asks: before its server was started what the entrypoint found, then what the server says.
set -euo pipefail

if [ ! -e /tmp/started ]; then
  cat /tmp/position
  exit 0
fi
status=$(timeout 2 mysql --defaults-file=/sandbox/client.cnf -N -B -e \
  "select variable_value from performance_schema.global_status where variable_name = 'wsrep_cluster_status'" 2>/dev/null || true)
case $status in
  Primary) echo primary ;;
  '') echo starting ;; # the server of the first start and a server that waits for the cluster take no connections
  *) echo nonprimary ;;
esac

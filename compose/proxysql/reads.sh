#!/bin/sh
# Sends reads to the readers of a cluster, and to its writer while it has no other node: ProxySQL has no rule for that.
# One session at the admin interface asks twice a second, which takes less than a client for each question.
set -eu
client=$(command -v mariadb || command -v mysql)
# Where reads belong: 20 with a reader, else 10. A shunned reader is back when it answers pings, since only reads would try it.
question="SELECT CASE WHEN COUNT(*) > 0 THEN 20 ELSE 10 END FROM stats_mysql_connection_pool AS pool
  WHERE hostgroup = 20 AND (status = 'ONLINE' OR (status = 'SHUNNED' AND EXISTS (
    SELECT 1 FROM monitor.mysql_server_ping_log AS ping WHERE ping.hostname = pool.srv_host AND ping.port = pool.srv_port
    AND ping.ping_error IS NULL AND ping.time_start_us > (strftime('%s', 'now') - 3) * 1000000)));"

asked_again() {
  while printf '%s\n' "$question"; do sleep 0.5; done
}

followed() {
  now=20
  while read -r hostgroup; do
    [ "$hostgroup" != "$now" ] || continue
    echo "[reads] to hostgroup $hostgroup" >&2
    sh /sandbox/ask "UPDATE mysql_query_rules SET destination_hostgroup = $hostgroup WHERE rule_id = 20;
      LOAD MYSQL QUERY RULES TO RUNTIME" && now=$hostgroup
  done
}

while :; do
  asked_again 2>/dev/null | "$client" --defaults-file=/sandbox/admin.cnf -N -B -n 2>/dev/null | followed || true
  sleep 0.2
done

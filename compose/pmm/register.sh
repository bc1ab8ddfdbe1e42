#!/bin/bash
# Registers this client's database with the server. By the server's interface and not by `pmm-admin add`, which
# would take the database's password on its command line. The server checks the connection, so the first answers
# may be refusals: the database is still starting. 409: it is registered already.
#
# In the background: only when this script has ended does the entrypoint run an agent that it restarts whenever it
# fails. However late that one answers, it is registered then.
set -euo pipefail

register() {
  local status code
  status=$(pmm-admin status --wait=60s --json) || return 1
  code=$(jq --argjson status "$status" \
      '.mysql.node_id = $status.pmm_agent_status.node_id | .mysql.pmm_agent_id = $status.pmm_agent_status.agent_id' \
      /sandbox/service.json \
    | curl -s -K /sandbox/curl.conf -H 'Content-Type: application/json' --data @- -o /dev/null -w '%{http_code}') || return 1
  [ "$code" = 200 ] || [ "$code" = 409 ]
}

until register; do sleep 1; done &

#!/bin/bash
# The agent takes the server's password from its environment alone: it is put there from a file.
set -euo pipefail
until curl -fsS -k -o /dev/null https://pmm1:8443/v1/server/readyz; do sleep 1; done
PMM_AGENT_SERVER_PASSWORD=$(</sandbox/admin-password)
export PMM_AGENT_SERVER_PASSWORD
exec /usr/local/percona/pmm/bin/pmm-agent-entrypoint

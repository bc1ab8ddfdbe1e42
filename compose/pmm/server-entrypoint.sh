#!/bin/bash
# Grafana takes the administrator's password from its environment alone: it is put there from a file, so that
# `docker inspect` shows none.
set -euo pipefail
GF_SECURITY_ADMIN_PASSWORD=$(</sandbox/admin-password)
export GF_SECURITY_ADMIN_PASSWORD
exec /opt/entrypoint.sh

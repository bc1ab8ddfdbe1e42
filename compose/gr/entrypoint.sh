#!/usr/bin/env bash
# The image's own entry point, with the forming script beside it: the script ends with the container, whose first process the server is.
set -euo pipefail
bash /sandbox/forming &
exec "$@"

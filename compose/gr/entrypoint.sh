#!/usr/bin/env bash
# The image's own entry point, with the forming script beside it: the script ends with the server, of whose process group it is.
set -euo pipefail
bash /sandbox/forming &
exec "$@"

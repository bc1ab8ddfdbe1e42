#!/bin/sh
# Our command line in the place of Compose's, as pytest-docker calls it: -p NAME up|down OPTION…
# A stack that does not come up is removed at once: pytest-docker removes only what it has set up.
set -eu
sandbox=$(dirname "$0")/../../.venv/bin/sandbox
name=$2 command=$3
shift 3
"$sandbox" "$command" --name "$name" "$@" && exit
code=$?
[ "$command" != up ] || "$sandbox" down --name "$name"
exit "$code"

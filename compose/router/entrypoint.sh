#!/usr/bin/env bash
# Bootstraps MySQL Router from whichever member lets it, once, and becomes the router.
set -euo pipefail

folder=/tmp/router
read -ra nodes <<<"$SANDBOX_NODES"
mapfile -t options </sandbox/options
password=$(</sandbox/router-password)
declare -A said=()

say() { printf '%(%FT%TZ)T [entrypoint] %s\n' -1 "$*" >&2; }

bootstrap() { # node: the password is asked for on the standard input, for the bootstrap and for the account to keep
  rm -rf "$folder"
  printf '%s\n%s\n' "$password" "$password" |
    mysqlrouter --user mysqlrouter --bootstrap "router@$1:3306" --account router --account-create never --directory "$folder" --force \
      --disable-rest "${options[@]/#/--conf-set-option=}" 2>&1
}

trap 'exit 143' TERM INT
until [ -e "$folder/mysqlrouter.conf" ]; do
  for node in "${nodes[@]}"; do
    timeout 2 bash -c ": >/dev/tcp/$node/3306" 2>/dev/null || continue
    answer=$(bootstrap "$node") && break
    answer=${answer##*$'\n'}
    answer=${answer:-no answer}
    [ -n "${said[$answer]:-}" ] || say "$node: $answer"
    said[$answer]=yes
  done
  sleep 0.2
done
# A session takes a file for its client and one for its server.
ulimit -Sn "$(ulimit -Hn)"
say "bootstrapped from $node"
exec mysqlrouter --user mysqlrouter --config "$folder/mysqlrouter.conf"

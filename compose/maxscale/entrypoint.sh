#!/bin/bash
# Hands the configuration to the user that MaxScale runs as, whatever its id in this image, and starts MaxScale.
set -euo pipefail
install -o maxscale -g maxscale -m 0400 /sandbox/maxscale.cnf /etc/maxscale.cnf
install -d -o maxscale -g maxscale -m 0755 /var/lib/maxscale /var/cache/maxscale /var/log/maxscale /var/run/maxscale
# A name that does not resolve when MaxScale starts is looked up again only after 60 s, and that server gets no session
# until then. Docker tells nobody when a name appears, so it is asked; a server that is down has no name: 30 s, then without.
deadline=$((SECONDS + 30))
mapfile -t names < <(sed -n 's/^address=//p' /sandbox/maxscale.cnf)
for name in "${names[@]}"; do
  until getent hosts "$name" > /dev/null; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      echo "sandbox: $name does not resolve; MaxScale looks it up again after 60 s" >&2
      break
    fi
    sleep 0.1
  done
done
# A container that was killed leaves them, and MaxScale would refuse to start beside its dead self.
rm -f /var/run/maxscale/maxscale.pid /var/cache/maxscale/maxscale.lock /var/lib/maxscale/maxscale.lock
exec maxscale --nodaemon --user=maxscale --log=stdout --config=/etc/maxscale.cnf

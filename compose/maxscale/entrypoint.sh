#!/bin/bash
# Hands the configuration to the user that MaxScale runs as, whatever its id in this image, and starts MaxScale.
set -euo pipefail
install -o maxscale -g maxscale -m 0400 /sandbox/maxscale.cnf /etc/maxscale.cnf
install -d -o maxscale -g maxscale -m 0755 /var/lib/maxscale /var/cache/maxscale /var/log/maxscale /var/run/maxscale
# A container that was killed leaves them, and MaxScale would refuse to start beside its dead self.
rm -f /var/run/maxscale/maxscale.pid /var/cache/maxscale/maxscale.lock /var/lib/maxscale/maxscale.lock
exec maxscale --nodaemon --user=maxscale --log=stdout --config=/etc/maxscale.cnf

#!/bin/sh
# One question to the admin interface: ask "SELECT …". Debian's client has the one name or the other.
set -eu
client=$(command -v mariadb || command -v mysql)
exec "$client" --defaults-file=/sandbox/admin.cnf -N -B -e "$1"

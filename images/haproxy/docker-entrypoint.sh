#!/bin/sh
# Entry point of HAProxy: in the foreground, master and worker, so that HUP reloads; options alone mean haproxy.
set -eu

case ${1:--} in -*) set -- haproxy "$@" ;; esac
if [ "$1" = haproxy ]; then
  shift
  set -- haproxy -W -db "$@"
fi
exec "$@"

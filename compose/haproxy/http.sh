#!/bin/bash
# One question over HTTP to this container: ask PORT PATH. Prints the answer's last line; fails unless the status is 200.
# In bash alone, since the published image of HAProxy has nothing that speaks HTTP.
set -euo pipefail

exec 3<>"/dev/tcp/127.0.0.1/$1"
printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
read -r _ status _ <&3
mapfile -t answer <&3
printf '%s\n' "${answer[-1]}"
[ "$status" = 200 ]

#!/bin/bash
# An sshd with a host key of its own; the manager, and other sshds of the group, come in by the stack's key.
set -euo pipefail
[ -f /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
exec /usr/sbin/sshd -D -e -f /sandbox/sshd_config

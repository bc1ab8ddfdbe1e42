"""Runs a service as its image's user although Compose mounts its files.

Compose asks the engine to give a mounted file to the container's user, and the engine looks that user up on its own
host, where an image's user does not exist: the container cannot be created. Root exists everywhere. So the service
starts as root, gives the files to the image's user and becomes that user before it runs the fragment's own entrypoint.
"""

from typing import Any

from sandbox.plan.model import Node

TARGET = "/sandbox/as-user"

SCRIPT = """\
#!/bin/sh
# as-user USER PROGRAM [ARGUMENT…]: root hands USER the mounted files, and becomes USER.
set -eu
user=$1
shift
for folder in /sandbox /docker-entrypoint-initdb.d; do
  [ ! -d "$folder" ] || chown -R "$user" "$folder"
done
HOME=$(eval "echo ~$user")
export HOME
exec chroot --userspec="$user" / sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
"""


def image_user(node: Node) -> str | None:
    """The user that the node's published image runs as, if its fragment names one."""
    spec = node.component.spec
    return (spec.auxiliary.get(node.service) or spec).image_user


def started_as(user: str, service: dict[str, Any]) -> dict[str, Any]:
    """``user`` and ``entrypoint`` of a service whose own entrypoint runs as that user."""
    return {"user": "root", "entrypoint": ["sh", TARGET, user, *service["entrypoint"]]}

"""Starting a service as the user that its image has for it, although its files come from Compose.

Compose asks the engine to give a mounted file to the container's user, and the engine looks that user up on its own
host, where an image's user is not known: the container cannot be created. Root is known everywhere. So the service is
started as root, which hands the files to the image's user and becomes that user before the fragment's own entrypoint.
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
    """The user that the node's published image runs as, where its fragment names one."""
    spec = node.component.spec
    return (spec.auxiliary.get(node.service) or spec).image_user


def started_as(user: str, service: dict[str, Any]) -> dict[str, Any]:
    """``user`` and ``entrypoint`` of a service whose own entrypoint is to run as that user."""
    return {"user": "root", "entrypoint": ["sh", TARGET, user, *service["entrypoint"]]}

"""Ships our files and the user's to the client node, into a folder named after its contents."""

import hashlib
import json
from collections.abc import Mapping

from sandbox.stack.protocol import RunningStack
from sandbox.workloads.common.in_client import ask_script


def folder_of(contents: Mapping[str, str]) -> str:
    """Folder of shipped files in the client node; other files get another folder."""
    content = json.dumps(contents, sort_keys=True).encode()
    return f"/tmp/sandbox-{hashlib.sha256(content).hexdigest()[:16]}"  # noqa: S108  (in a container of one purpose)


def ship(stack: RunningStack, client: str, contents: Mapping[str, str]) -> str:
    """Writes files (path → text) in the client node; returns their folder. Raises SandboxError (exit 4)."""
    request = {"folder": folder_of(contents), "files": dict(contents)}
    return str(ask_script(stack, client, __package__, "in_client_files", request))

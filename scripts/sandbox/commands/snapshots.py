"""snapshots: lists the snapshots that stacks are restored from."""

import json as json_text
import sys
from datetime import datetime

from sandbox.commands.common.options import Json
from sandbox.registry import as_typed
from sandbox.report.stack_view import snapshot_lines, snapshots_data
from sandbox.stack.engine import Docker
from sandbox.stack.snapshots import store

HELP = ("a stack", 12)


def command(json: Json = False) -> None:
    """List the snapshots from which `up` starts in seconds."""
    found = store.snapshots(Docker())
    if json:
        print(json_text.dumps(snapshots_data(found), indent=2))
    elif found:
        print(as_typed("\n".join(snapshot_lines(found, _clock))))
    else:
        print(as_typed("there is no snapshot yet; the first `make up` of a profile keeps one"), file=sys.stderr)


def _clock(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s).astimezone():%Y-%m-%d %H:%M}"

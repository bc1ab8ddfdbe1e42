"""snapshots: lists the snapshots that stacks are restored from."""

import sys
from collections.abc import Sequence
from datetime import datetime

from sandbox.cli.common.options import Json
from sandbox.cli.common.showing import show
from sandbox.cli.console import as_typed
from sandbox.cli.registry import About
from sandbox.report.text import text_table
from sandbox.stack.engine import Docker
from sandbox.stack.snapshots.store import CAP_BYTES, Snapshot
from sandbox.stack.snapshots.store import snapshots as kept_snapshots

ABOUT = About(group="stacks", after="clean")


def command(json: Json = False) -> None:
    """List the snapshots from which `up` starts in seconds."""
    found = kept_snapshots(Docker())
    size = sum(each.facts.bytes for each in found)
    if found or json:
        data = {
            "snapshots": [_data(each) for each in found],
            "size_bytes": size,
            "cap_bytes": CAP_BYTES,
        }
        cap = (
            f"of at most {CAP_BYTES >> 30} GiB; make clean removes them, SNAPSHOTS=0 does not use"
            " them"
        )
        show(json, data, [*_table(found), "", f"{_mebibytes(size)} {cap}"])
    else:
        print(
            as_typed("there is no snapshot yet; the first `make up` of a profile keeps one"),
            file=sys.stderr,
        )


def _data(snapshot: Snapshot) -> dict[str, object]:
    facts = snapshot.facts
    return {
        "key": facts.key,
        "profile": facts.profile,
        "size_bytes": facts.bytes,
        "made_unix_s": facts.made_unix_s,
        "used_unix_s": snapshot.used_unix_s,
        "checkout": facts.checkout,
        "volume": snapshot.volume,
    }


def _table(snapshots: Sequence[Snapshot]) -> list[str]:
    rows = [
        (facts.key, facts.profile, _mebibytes(facts.bytes), _clock(facts.made_unix_s), _clock(used))
        for facts, used in ((each.facts, each.used_unix_s) for each in snapshots)
    ]
    return text_table(("snapshot", "profile", "size", "created", "last used"), rows)


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"


def _clock(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s).astimezone():%Y-%m-%d %H:%M}"

"""PURE: the snapshots on an engine, as data and as lines for a terminal."""

from collections.abc import Callable, Sequence
from typing import Any

from sandbox.report.text_table import text_table
from sandbox.stack.snapshots.store import CAP_BYTES, Snapshot

_HEADER = ("snapshot", "profile", "size", "created", "last used")


def snapshots_data(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """What `make snapshots JSON=1` prints."""
    rows = [
        {
            "key": each.facts.key,
            "profile": each.facts.profile,
            "size_bytes": each.facts.bytes,
            "made_unix_s": each.facts.made_unix_s,
            "used_unix_s": each.used_unix_s,
            "checkout": each.facts.checkout,
            "volume": each.volume,
        }
        for each in snapshots
    ]
    return {"snapshots": rows, "size_bytes": sum(each.facts.bytes for each in snapshots), "cap_bytes": CAP_BYTES}


def snapshot_lines(snapshots: Sequence[Snapshot], clock: Callable[[float], str]) -> list[str]:
    """A table, and the total size against the cap. ``clock``: formats seconds since 1970."""
    rows = [
        (
            each.facts.key,
            each.facts.profile,
            f"{each.facts.bytes / (1 << 20):.1f} MiB",
            clock(each.facts.made_unix_s),
            clock(each.used_unix_s),
        )
        for each in snapshots
    ]
    size = sum(each.facts.bytes for each in snapshots) / (1 << 20)
    total = f"{size:.1f} MiB of at most {CAP_BYTES >> 30} GiB; make clean removes them, SNAPSHOTS=0 does not use them"
    return [*text_table(_HEADER, rows), "", total]

"""Verdicts on the ledger of the writers: what the servers have of the writes that they
acknowledged.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.core.errors import states
from sandbox.load.common.prepared import without_watermark, write_watermark
from sandbox.load.common.workload import Session, WorkloadError
from sandbox.record.record import CheckRecord, Verdict
from sandbox.stack.protocol import StackNode

CHECKS = ("writers_lost", "writers_phantom", "writers_duplicate")
CAUGHT_UP_LIMIT_S = 60.0
_PAUSE_S = 0.2


def caught_up(session: Session, servers: Sequence[StackNode]) -> dict[str, str]:
    """Returns when every server has all that the writer had; those that do not in time, each with
    why.
    """
    watermark = uuid.uuid4().hex
    try:
        write_watermark(session, watermark)
    except WorkloadError as error:
        return {server.name: str(error) for server in servers}
    end_s = time.monotonic() + CAUGHT_UP_LIMIT_S
    while behind := without_watermark(session, servers, watermark):
        if time.monotonic() > end_s:
            return behind
        time.sleep(_PAUSE_S)
    return {}


def verdicts(
    answer: Mapping[str, Any], writer: str, behind: Mapping[str, str]
) -> tuple[CheckRecord, ...]:
    """The three verdicts. ``answer``: of `in_client_ledger`; ``behind``: servers that had not
    caught up, each with why.
    """
    read = {name: each for name, each in answer["servers"].items() if not each["error"]}
    unread = {name: each["error"] for name, each in answer["servers"].items() if each["error"]}
    acked = answer["acked"]
    if not acked:
        return tuple(_check(name, "unknown", "no write was acknowledged") for name in CHECKS)
    doubts = [f"{name} was not read ({why})" for name, why in unread.items()]
    found = [
        _lost(read, acked, writer, behind, doubts),
        _none_of(read, "phantom", f"{answer['failed']:,} refused writes", doubts),
        _none_of(read, "duplicate", f"{acked:,} acknowledged writes", doubts),
    ]
    return tuple(
        _check(name, verdict, detail) for name, (verdict, detail) in zip(CHECKS, found, strict=True)
    )


def _check(name: str, verdict: Verdict, detail: str) -> CheckRecord:
    return CheckRecord(name=name, verdict=verdict, detail=detail)


def _lost(
    read: Mapping[str, Any],
    acked: int,
    writer: str,
    behind: Mapping[str, str],
    doubts: Sequence[str],
) -> tuple[Verdict, str]:
    """A server that has not caught up may yet get what it lacks; the writer lacks it for good."""
    lacking = {name: each["lost"] for name, each in read.items() if each["lost"]["count"]}
    gone = {
        name: _shown(lost, acked)
        for name, lost in lacking.items()
        if name == writer or name not in behind
    }
    if gone:
        return "fail", f"acknowledged, but not there: {states(gone)}"
    late = [f"{name} lacks {lacking[name]['count']:,}: {behind[name]}" for name in lacking]
    if writer not in read:
        late.append(f"the writer {writer} was not read")
    if late or doubts:
        return "unknown", "; ".join([*late, *doubts])
    return "pass", f"all {acked:,} acknowledged writes are on {', '.join(read)}"


def _none_of(
    read: Mapping[str, Any], what: str, of: str, doubts: Sequence[str]
) -> tuple[Verdict, str]:
    found = {name: each[what] for name, each in read.items() if each[what]["count"]}
    words = {"phantom": "there all the same", "duplicate": "there more than once"}[what]
    if found:
        text = {name: f"{each['count']:,}, {_examples(each)}" for name, each in found.items()}
        return "fail", f"{words}: {states(text)}"
    if doubts or not read:
        return "unknown", "; ".join(["none on the servers that were read", *doubts])
    return "pass", f"none of {of} is {words}"


def _shown(lost: Mapping[str, Any], acked: int) -> str:
    return f"{lost['count']:,} of {acked:,}, {_examples(lost)}"


def _examples(found: Mapping[str, Any]) -> str:
    """``writer 3 op 17``, of the first few."""
    texts = [f"writer {writer} op {op}" for writer, op in found["examples"]]
    return ", ".join(texts) + (", …" if found["count"] > len(texts) else "")

"""The evidence of its stack beside the record of a repro that ended as nobody expected."""

from typing import Any

from sandbox.collect.collect import collect
from sandbox.collect.plan import SMALL
from sandbox.core.errors import SandboxError
from sandbox.measure.run import Run
from sandbox.record.record import CheckRecord
from sandbox.record.repro import ReproRecord

ARCHIVE = "evidence.tar.zst"
_STATES_OF_PROGRAMS = ("crash", "hang")
"""Expectations after which logs and stacks of threads say more than the record does."""


def is_worth_keeping(judged: ReproRecord) -> bool:
    """Whether a repro ended with a crash, a hang, or otherwise than its file says."""
    if judged.verdict in ("neither", "unknown"):
        return True
    shown = "bug" if judged.verdict == "reproduced" else "fixed"
    if judged.expected not in (None, shown):
        return True
    return any(
        each.met and each.text.startswith(_STATES_OF_PROGRAMS)
        for each in judged.expectations
        if each.side == "bug"
    )


def keep_evidence(run: Run[Any], judged: ReproRecord | None) -> None:
    """Takes it, small, for the first repeat of a cell that is worth it; the stack is as its last
    step left it. What goes wrong is a check of the record.
    """
    if judged is None or not is_worth_keeping(judged):
        return
    if any(run.folder.parent.glob(f"{run.cell}.[0-9]*/{ARCHIVE}")):
        return
    try:
        collect(run.stack, run.keep("evidence", ARCHIVE), SMALL)
    except (SandboxError, TimeoutError, OSError) as problem:
        detail = f"{type(problem).__name__}: {problem}"
        run.checks.append(CheckRecord(name="evidence_kept", verdict="unknown", detail=detail))

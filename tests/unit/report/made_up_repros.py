"""Records of repros as they could have been left: one in two versions, with a step that waits."""

from typing import Any

from sandbox.record.record import Record
from sandbox.record.repro import ExpectationRecord, ReproRecord, ReproVerdict, Side, StepRecord
from unit.record.samples import sample_record

STEPS = [
    StepRecord(number=1, text="s1 @mysql1: begin", began_ms=0, ended_ms=4),
    StepRecord(
        number=2, text="s2: alter table t", name="alter", began_ms=4, ended_ms=None, blocked=True,
        waited_for="s1 (metadata lock EXCLUSIVE of repro.t)",
    ),
    StepRecord(
        number=3, text="s1: select v from t", began_ms=504, ended_ms=518.4, rows=[[["1", None]]]
    ),
]  # fmt: skip


def repro_record(
    verdict: ReproVerdict = "reproduced",
    version: str = "9.7.4-2 (Debian)",
    block: int = 1,
    expected: Side | None = "bug",
    **more: Any,
) -> Record:
    """A repeat that was carried out."""
    seen = {"reproduced": "alter waited for s1", "fixed": "alter did not wait"}
    expectations = [
        ExpectationRecord(side="bug", text="alter: blocked True", met=verdict == "reproduced",
                          seen=seen.get(verdict, "nobody knows")),
    ]  # fmt: skip
    repro = ReproRecord(
        name="metadata-lock", title="An ALTER waits", question="Does it wait?",
        links=["https://example.org/1"], sha256="0", verdict=verdict,
        seen=seen.get(verdict, "step 3 (s1: select v from t): error 1064"), expected=expected,
        version=version, seconds=0.52, steps=STEPS, expectations=expectations,
    )  # fmt: skip
    cell = f"metadata-lock.{version.split('.')[0]}"
    record = sample_record(cell=cell, block=block, profile=more.pop("profile", "mysql@9.7"))
    return record.model_copy(update={"repro": repro, **more})

"""When the evidence of a stack is kept beside the record of a repro, and how often."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.core.errors import MachineError
from sandbox.record.repro import ExpectationRecord, ReproRecord
from sandbox.repro import evidence
from sandbox.repro.evidence import ARCHIVE, is_worth_keeping, keep_evidence


def judged(
    verdict: Any, expected: Any = None, text: str = "result: update", met: bool = True
) -> ReproRecord:
    """What a repro came to."""
    seen = ExpectationRecord(side="bug", text=text, met=met, seen="so")
    return ReproRecord(
        name="r", title="t", question="q", sha256="0", verdict=verdict, seen="so", seconds=1.0,
        expected=expected, steps=[], expectations=[seen],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("record", "is_worth"),
    [
        (judged("reproduced"), False),
        (judged("fixed", "fixed"), False),
        (judged("reproduced", "bug"), False),
        (judged("neither"), True),
        (judged("unknown"), True),
        (judged("fixed", "bug"), True),
        (judged("reproduced", "fixed"), True),
        (judged("reproduced", "bug", "crash @mysql1: signal 11"), True),
        (judged("reproduced", "bug", "hang: second"), True),
        (judged("fixed", "fixed", "hang: second", met=False), False),
    ],
)
def test_what_nobody_expected_and_what_a_record_does_not_say_is_worth_it(
    record: ReproRecord, is_worth: bool
) -> None:
    assert is_worth_keeping(record) is is_worth


class Repeats:
    """Repeats of one cell, each with a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checks: list[Any] = []

    def run(self, block: int) -> Any:
        """One of them."""
        own = self.folder / f"r.10-11.{block}"
        own.mkdir(exist_ok=True)
        return SimpleNamespace(
            folder=own, cell="r.10-11", stack="the stack", checks=self.checks,
            keep=lambda _label, name: own / name,
        )  # fmt: skip


def test_a_cell_keeps_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Path] = []

    def collect(stack: object, archive: Path, options: Any) -> None:
        assert stack == "the stack" and not options.tools and not options.core
        archive.touch()
        taken.append(archive)

    monkeypatch.setattr(evidence, "collect", collect)
    repeats = Repeats(tmp_path)
    for block, verdict in enumerate(("reproduced", "neither", "neither"), 1):
        keep_evidence(repeats.run(block), judged(verdict))
    assert taken == [tmp_path / "r.10-11.2" / ARCHIVE]
    assert not repeats.checks


def test_what_cannot_be_kept_is_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def collect(*_: object) -> None:
        raise MachineError("the stack is gone", "removed", "try: make ps")

    monkeypatch.setattr(evidence, "collect", collect)
    repeats = Repeats(tmp_path)
    keep_evidence(repeats.run(1), judged("neither"))
    (check,) = repeats.checks
    assert (check.name, check.verdict) == ("evidence_kept", "unknown")
    assert "the stack is gone" in check.detail

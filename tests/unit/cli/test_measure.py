"""bench: while it measures, no snapshot of any stack is taken."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.cli.commands import bench
from sandbox.cli.common import measuring
from sandbox.core.paths import RESULTS
from sandbox.stack.snapshots.background import somebody_measures
from unit.record.samples import sample_record


def test_no_snapshot_is_taken_while_a_bench_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def measured(*_: Any) -> tuple[Any, Any]:
        seen.append(somebody_measures())
        return sample_record(), SimpleNamespace(path=RESULTS / "x")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(bench, "bench", measured)
    monkeypatch.setattr(
        measuring, "quiet_stack", lambda *_: SimpleNamespace(project="p", name="default")
    )
    assert bench.command(name="default", workload="oltp_read_only") == 0
    assert seen == [True] and not somebody_measures()

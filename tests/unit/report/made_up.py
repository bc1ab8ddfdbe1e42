"""A made-up result, read as the command reads it, for tests of what draws it."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from perf.made_up import write_made_up
from sandbox.cli.commands.report import judge, read_runs
from sandbox.judge.compare import Judged
from sandbox.record.manifest import MatrixPart
from sandbox.report.charts.layout import RunData


@cache
def made_up(records: int = 168) -> tuple[MatrixPart, Judged, list[RunData]]:
    """20 cells and a canary, 8 blocks: durable commits cost something where something is written."""
    with TemporaryDirectory() as folder:
        result = write_made_up(Path(folder), records)
        part, runs = result.manifest.matrix, read_runs(result)
    assert part is not None
    return part, judge(result, part, runs), runs

"""Every matrix that ships, in turns: one block at its fewest threads, in which no cell fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from integration.live import LATE, SANDBOX, newest_result, run, run_statuses
from integration.turns import of_today
from sandbox.core.paths import yaml_files
from sandbox.matrix.definition import Matrix
from sandbox.matrix.file import MATRICES, read_matrix
from sandbox.record.store import ResultFolder

pytestmark = [pytest.mark.docker, pytest.mark.long, pytest.mark.own_stack]
SHORT = ("--blocks", "1", "--seconds", "1", "--warmup", "1", "--new")


def least_of(matrix: Matrix) -> tuple[str, ...]:
    """The fewest threads; of a matrix whose runs take most of a minute each, the levels of its
    first comparison.
    """
    slow = _breaks(matrix) or any(
        cell.change.workload == "replica-catch-up" for cell in matrix.all_cells()
    )
    cells = (cell.levels for cell in matrix.all_cells())
    first = next(
        levels
        for levels in cells
        if any(levels[name] != matrix.baseline[name] for name in matrix.baseline)
    )
    narrowed = [
        name
        for name in matrix.factors
        if name not in matrix.baseline and (slow or name == "threads")
    ]
    return ("--only", " ".join(f"{name}={first[name]}" for name in narrowed)) if narrowed else ()


def _breaks(matrix: Matrix) -> bool:
    return any(cell.change.faults for cell in matrix.all_cells())


def each_matrix() -> Iterator[ParameterSet]:
    """A sixth of those without a fault a day. Of those with one a twelfth: they take minutes,
    alone, since beside other work a trial is late, and repeated.
    """
    paths = [*yaml_files(MATRICES).values()]
    breaking = [path for path in paths if _breaks(read_matrix(path))]
    for path in of_today([path for path in paths if path not in breaking], days=6):
        yield pytest.param(path, id=path.stem)
    for path in of_today(breaking, days=12):
        yield pytest.param(path, id=path.stem, marks=pytest.mark.alone)


@pytest.mark.parametrize("path", each_matrix())
def test_every_cell_that_can_run_here_does(path: Path) -> None:
    matrix = read_matrix(path)
    trials = _breaks(matrix)
    argv: list[str | Path] = [SANDBOX, "matrix", "--matrix", path.stem, *SHORT, *least_of(matrix)]
    done = run(argv, check=not trials, timeout_s=1500)
    result = newest_result(f"matrix-{path.stem}")
    statuses = run_statuses(result)
    if trials:
        records = ResultFolder(result).records()
        late = {
            f"{each.cell}.{each.block}" for each in records if (each.reason or "").startswith(LATE)
        }
        statuses = {run: status for run, status in statuses.items() if run not in late}
        assert done.returncode in (0, 4) and len(records) > 2
    else:
        assert len(statuses) > 2
    assert set(statuses.values()) <= {"ok"}

"""Every matrix that ships, one block of it at its fewest threads: no cell that can run here fails."""

from pathlib import Path

import pytest

from integration.live import newest_result, run_statuses, sandbox
from sandbox.experiment.definition import Matrix
from sandbox.experiment.file import MATRICES, read_matrix
from sandbox.places import yaml_files
from sandbox.results.store import ResultFolder

pytestmark = [pytest.mark.docker, pytest.mark.long]
SHORT = ("--blocks", "1", "--seconds", "1", "--warmup", "1", "--new")
LATE = "the probe was late"
"""Why a trial beside other tests may be no measurement."""


def least_of(matrix: Matrix) -> tuple[str, ...]:
    """The fewest threads; of a matrix of trials, which take most of a minute each, the levels of one comparison."""
    narrowed = {name: levels for name, levels in matrix.factors.items() if name == "threads" or _breaks(matrix)}
    only = " ".join(f"{name}={next(iter(levels))}" for name, levels in narrowed.items() if name not in matrix.baseline)
    return ("--only", only) if only else ()


def _breaks(matrix: Matrix) -> bool:
    return any(cell.change.faults for cell in matrix.all_cells())


@pytest.mark.parametrize("path", yaml_files(MATRICES).values(), ids=lambda path: path.stem)
def test_every_cell_that_can_run_here_does(path: Path) -> None:
    matrix = read_matrix(path)
    trials = _breaks(matrix)
    done = sandbox("matrix", "--matrix", path.stem, *SHORT, *least_of(matrix), check=not trials)
    result = newest_result(f"matrix-{path.stem}")
    statuses = run_statuses(result)
    if trials:
        records = ResultFolder(result).records()
        late = {f"{each.cell}.{each.block}" for each in records if (each.reason or "").startswith(LATE)}
        statuses = {run: status for run, status in statuses.items() if run not in late}
        assert done.returncode in (0, 4) and len(records) > 2
    else:
        assert len(statuses) > 2
    assert set(statuses.values()) <= {"ok"}

"""Every matrix that ships, one block of it at its fewest threads: no cell that can run here fails."""

from pathlib import Path

import pytest

from integration.live import newest_result, run_statuses, sandbox
from sandbox.experiment.file import MATRICES, read_matrix
from sandbox.places import yaml_files

pytestmark = [pytest.mark.docker, pytest.mark.long]
SHORT = ("--blocks", "1", "--seconds", "1", "--warmup", "1", "--new")


@pytest.mark.parametrize("path", yaml_files(MATRICES).values(), ids=lambda path: path.stem)
def test_every_cell_that_can_run_here_does(path: Path) -> None:
    threads = read_matrix(path).factors.get("threads", {})
    fewest = ("--only", f"threads={next(iter(threads))}") if threads else ()
    sandbox("matrix", "--matrix", path.stem, *SHORT, *fewest)
    statuses = run_statuses(newest_result(f"matrix-{path.stem}"))
    assert len(statuses) > 2 and set(statuses.values()) == {"ok"}

"""The tool as `pipx install .` leaves it: a wheel with all that it needs, run from an empty
folder.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.live import leftovers
from sandbox.core.paths import CHECKOUT

MATRIX = """\
title: Mine
question: Does the user's own file count?
common: {profile: mysql@9.7, workload: oltp_read_only}
factors: {threads: {one: {threads: 1}, two: {threads: 2}}}
baseline: {threads: one}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as installed; what it depends on comes from .venv."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [
        sys.executable,
        "-I",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--disable-pip-version-check",
    ]
    subprocess.run(
        [*pip, "--target", str(folder), str(CHECKOUT)], check=True, capture_output=True, timeout=300
    )
    return folder


def sandbox(installed: Path, here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the installed tool in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "sandbox.cli", *words],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_plans_profiles_and_own_files_are_found_in_any_folder(
    installed: Path, tmp_path: Path
) -> None:
    matrices = tmp_path / "profiles" / "matrices"
    matrices.mkdir(parents=True)
    (matrices / "mine.yaml").write_text(MATRIX)
    assert "galera3" in sandbox(installed, tmp_path, "plan", "galera3+haproxy").stdout
    listed = sandbox(installed, tmp_path, "list", "matrices").stdout
    assert "mine " in listed and "quick " in listed
    assert sandbox(installed, tmp_path, "--version").stdout.startswith("sandbox-matrix ")


def test_an_error_names_the_tools_own_command(installed: Path, tmp_path: Path) -> None:
    refused = sandbox(installed, tmp_path, "report")
    assert refused.returncode == 2 and refused.stderr.splitlines()[2] == "try: sandbox bench"


@pytest.mark.docker
def test_a_stack_lives_and_leaves_results_here(installed: Path, tmp_path: Path) -> None:
    name = "installed"
    try:
        up = sandbox(installed, tmp_path, "up", "mysql@9.7", "-n", name, "--cold")
        assert up.returncode == 0, up.stderr
        assert "measure  sandbox bench --name installed" in up.stdout
        bench = sandbox(
            installed,
            tmp_path,
            "bench",
            "-n",
            name,
            "--seconds",
            "2",
            "--warmup",
            "1",
            "--rows",
            "100",
        )
        assert bench.returncode == 0 and "results/" in bench.stdout, bench.stderr
        assert (tmp_path / "results" / "latest" / "manifest.json").exists()
        report = sandbox(installed, tmp_path, "report")
        assert report.returncode == 0, report.stderr
        for name_of_file in ("summary.md", "report.html"):
            text = (tmp_path / "results" / "latest" / name_of_file).read_text()
            assert "sandbox bench --" in text and "make bench" not in text
        assert (
            "9.7"
            in sandbox(installed, tmp_path, "sql", "-n", name, "-e", "select version()").stdout
        )
    finally:
        labels = '{{.Label "sandbox.stack"}} {{.Label "sandbox.checkout"}}'
        found = subprocess.run(
            ["docker", "ps", "-a", "--filter", f"name=sandbox-{name}-", "--format", labels],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        down = sandbox(installed, tmp_path, "down", "-n", name)
        clean = sandbox(installed, tmp_path, "clean")  # the snapshot, too, which outlives its stack
    assert down.returncode == 0 and found and not leftovers(f"sandbox.stack={found[0]}")
    assert clean.returncode == 0 and not leftovers(f"sandbox.checkout={found[1]}")

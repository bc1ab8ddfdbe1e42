"""Workloads are found by their files alone."""

from pathlib import Path

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.workloads.common.registry import find_workload, find_workloads, workload_files
from sandbox.workloads.sysbench import Sysbench

PROFILES = [Path(__file__).parents[3] / "profiles" / "workloads"]

OLTP = (
    "oltp_read_write oltp_read_only oltp_write_only oltp_point_select oltp_insert oltp_delete oltp_update_index"
    " oltp_update_non_index select_random_points select_random_ranges bulk_insert"
)


def test_every_sysbench_oltp_script_is_a_workload() -> None:
    found = find_workloads(PROFILES)
    for name in OLTP.split():
        workload = found[name].workload
        assert isinstance(workload, Sysbench) and workload.script == name


def test_every_workload_has_one_line_of_help() -> None:
    for named in find_workloads(PROFILES).values():
        assert named.help and "\n" not in named.help, named.name


def test_a_file_is_a_workload_by_itself_unless_it_needs_options() -> None:
    assert set(workload_files()) >= {"noop", "sysbench"}
    found = find_workloads(PROFILES)
    assert "noop" in found and "sysbench" not in found


def test_adding_a_profile_adds_a_workload(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("help: my own\nworkload: sysbench\noptions: {script: oltp_read_only}\n")
    assert find_workload("mine", [tmp_path]).help == "my own"


@pytest.mark.parametrize(
    "text",
    [
        "help: x\nworkload: sysbank\n",
        "help: x\nworkload: sysbench\noptions: {skript: a}\n",
        "help: x\nworkload: sysbench\noptions: {script: oltp_reed_only}\n",
        "help: x\n",
        "a: [",
        "",
    ],
)
def test_a_profile_that_cannot_be_used_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.yaml").write_text(text)
    with pytest.raises(SandboxError, match=r"broken\.yaml") as caught:
        find_workloads([tmp_path])
    assert caught.value.exit_code is ExitCode.BAD_INPUT, "a file of the user's own"


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(SandboxError) as caught:
        find_workload("oltp_read_wirte", PROFILES)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert "oltp_read_write" in caught.value.known

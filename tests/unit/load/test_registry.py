"""Workloads are found by their files alone; WORKLOAD= and OPTIONS= as typed, files of the user's
own included.
"""

import hashlib
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.plugin_options import parse_options
from sandbox.load.common.registry import (
    EXAMPLE,
    WORKLOAD_KINDS,
    find_workload,
    find_workloads,
    resolve_workload,
)
from sandbox.load.statements import Statements
from sandbox.load.sysbench import Sysbench
from sandbox.load.tpcc import Tpcc
from sandbox.matrix.cell import Change
from sandbox.matrix.file import refuse_idle_factors

PROFILES = [Path(__file__).parents[3] / "profiles" / "workloads"]

OLTP = (
    "oltp_read_write oltp_read_only oltp_write_only oltp_point_select oltp_insert oltp_delete"
    " oltp_update_index oltp_update_non_index select_random_points select_random_ranges bulk_insert"
)
LUA = 'sysbench.cmdline.options = {mine = {"what", 1}}\nfunction event() end\n'


def test_every_sysbench_oltp_script_is_a_workload() -> None:
    found = find_workloads(PROFILES)
    for name in OLTP.split():
        workload = found[name].workload
        assert isinstance(workload, Sysbench) and workload.script == name


def test_every_workload_has_one_line_of_help() -> None:
    for named in find_workloads(PROFILES).values():
        assert named.help and "\n" not in named.help, named.name


def test_a_file_is_a_workload_by_itself_unless_it_needs_options() -> None:
    assert set(WORKLOAD_KINDS.names()) >= {"noop", "sysbench"}
    found = find_workloads(PROFILES)
    assert "noop" in found and "sysbench" not in found


def test_adding_a_profile_adds_a_workload(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "help: my own\nworkload: sysbench\noptions: {script: oltp_read_only}\n"
    )
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


def write(tmp_path: Path, name: str, text: str) -> str:
    """A file of the user's own."""
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_a_name_is_found_and_set() -> None:
    named = resolve_workload("tpcc", {"warehouses": "5"})
    assert (
        isinstance(named.workload, Tpcc) and named.workload.warehouses == 5 and named.file is None
    )
    assert resolve_workload("connection-storm").name == "connection-storm"


def test_a_file_is_a_workload_with_its_hash(tmp_path: Path) -> None:
    text = "SELECT 1;\n"
    named = resolve_workload(write(tmp_path, "mine.sql", text), {"data": "oltp"})
    assert isinstance(named.workload, Statements) and named.workload.data == "oltp"
    assert named.name == "mine.sql" and named.file
    assert named.file.sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "tables", "uses"),
    [
        (LUA, "none", {"distribution", "rate_per_s"}),
        (
            'require("oltp_common")\n',
            "oltp",
            {"distribution", "rate_per_s", "tables", "rows_per_table"},
        ),
        (LUA + "function prepare() end\n", "own", {"distribution", "rate_per_s"}),
        (
            LUA + 'sysbench.cmdline.commands = {prepare = {cmd}}\nx = {tables = {"how many", 4}}\n',
            "own",
            None,
        ),
    ],
)
def test_a_lua_script_says_itself_what_data_it_needs(
    tmp_path: Path, text: str, tables: str, uses: set[str] | None
) -> None:
    named = resolve_workload(write(tmp_path, "mine.lua", text))
    assert isinstance(named.workload, Sysbench) and named.workload.tables == tables
    assert named.workload.uses == (
        uses or {"distribution", "rate_per_s", "tables", "rows_per_table"}
    )


def test_any_option_goes_to_a_script_of_the_users_own_and_known_ones_to_ours(
    tmp_path: Path,
) -> None:
    own = resolve_workload(
        write(tmp_path, "mine.lua", LUA), {"mine": "7", "data": "consumed"}
    ).workload
    assert own.options() == {
        "script": "mine.lua",
        "tables": "none",
        "data": "consumed",
        "mine": "7",
    }
    ours = resolve_workload("oltp_read_only", {"range_size": 1000}).workload
    assert ours.options()["range_size"] == 1000
    with pytest.raises(SandboxError) as refused:
        resolve_workload("oltp_read_only", {"range_sise": 1000})
    assert "did you mean 'range_size'?" in refused.value.known


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("no/such.sql", "No such file"),
        ("no/such.py", "ends in .lua (sysbench) or .sql"),
        ("tpc", "did you mean 'tpcc'?"),
    ],
)
def test_what_cannot_be_is_refused(word: str, shown: str) -> None:
    with pytest.raises(SandboxError) as refused:
        resolve_workload(word)
    assert (
        shown in refused.value.known
        and len(refused.value.lines()) == 3
        and refused.value.exit_code == 2
    )


def test_a_broken_file_is_refused_with_the_path_as_typed(tmp_path: Path) -> None:
    path = write(tmp_path, "broken.sql", "SELECT 1;\nSELECT ${x};\n")
    with pytest.raises(SandboxError) as refused:
        resolve_workload(path)
    assert refused.value.what == f"{path}:2 is not valid"


def test_a_factor_that_no_workload_uses_is_refused() -> None:
    tpcc, oltp = Tpcc(), resolve_workload("oltp_read_only").workload
    rows, add = (
        {"few": Change(rows=10), "many": Change(rows=1000)},
        {"own-file": Change(), "shared": Change(add=["x"])},
    )
    refuse_idle_factors({"rate": {"1": Change(rate=1)}, "tables": add}, [tpcc.uses])
    refuse_idle_factors({"data": rows}, [tpcc.uses, oltp.uses])
    with pytest.raises(SandboxError, match="uses rows, which the factor data changes"):
        refuse_idle_factors({"tables": add, "data": rows}, [tpcc.uses])


def test_options_are_split_as_a_shell_would() -> None:
    assert parse_options(["warehouses=2 query='SELECT 1 + 1'", "a=b=c"], EXAMPLE) == {
        "warehouses": "2",
        "query": "SELECT 1 + 1",
        "a": "b=c",
    }


@pytest.mark.parametrize(
    ("text", "shown"), [("warehouses", "sets nothing"), ("a='b", "is not valid")]
)
def test_options_that_set_nothing_are_refused(text: str, shown: str) -> None:
    with pytest.raises(SandboxError, match=shown):
        parse_options([text], EXAMPLE)

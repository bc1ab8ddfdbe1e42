"""Tests of the servers' own language: what goes along, the image, the accounts, the outcome."""

import base64
import io
import tarfile
from pathlib import Path

import pytest

from sandbox.repro.mysqltest import (
    image_for,
    outcome_of,
    place_of,
    result_paths,
    set_up,
    sourced,
    suite_of,
    take_back,
)
from sandbox.repro.mysqltest_run import Mysqltest
from sandbox.repro.step import StepError, step_of
from sandbox.repro.steps.mysqltest import MysqltestStep
from unit.repro.fake_stage import FakeStage


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/usr/share/mysql/mysql-test/suite/galera/t/x.test", "suite/galera/t/x.test"),
        ("mysql-test/main/x.test", "main/x.test"),
        ("mysql-test/t/x.test", "main/x.test"),
        ("mine/x.test", "x.test"),
    ],
)
def test_a_test_stands_where_it_stands_among_the_suites(path: str, place: str) -> None:
    assert place_of(path) == place


@pytest.mark.parametrize(
    ("place", "text", "suite"),
    [
        ("suite/wsrep/t/x.test", "", "suite/wsrep"),
        ("x.test", "--source include/galera_cluster.inc\n", "suite/galera"),
        ("main/x.test", "--source include/master-slave.inc\n", "suite/rpl"),
        ("x.test", "--source include/have_innodb.inc\n", None),
    ],
)
def test_the_suite_whose_includes_it_finds(place: str, text: str, suite: str | None) -> None:
    assert suite_of(place, text) == suite


def test_results_stand_beside_or_in_the_folder_r() -> None:
    assert result_paths("suite/rpl/t/x.test") == ["suite/rpl/t/x.result", "suite/rpl/r/x.result"]
    assert result_paths("x.test") == ["x.result"]


def test_what_a_test_sources() -> None:
    text = "--source include/a.inc\nsource b.inc;\n  -- source c.inc\n# --source d.inc\nselect 1;"
    assert sourced(text) == ["include/a.inc", "b.inc", "c.inc"]


@pytest.mark.parametrize(
    ("version", "image"),
    [
        ("10.11.18-MariaDB", "mariadb-test@10.11"),
        ("10.6.12-MariaDB-log", "mariadb-test@10.11"),
        ("12.1.2-MariaDB", "mariadb-test@11.8"),
        ("10.3.1", "mariadb-test@10.5"),
    ],
)
def test_the_image_is_that_of_the_servers_series_or_the_next(version: str, image: str) -> None:
    assert image_for("mariadb", version, ["10.5", "11.8", "10.11"]) == image


def test_each_server_gets_the_accounts_for_itself() -> None:
    made = set_up("mariadb", "galera", ["10.0.0.2", "10.0.0.3"])
    assert made[:2] == ["SET SESSION sql_log_bin = 0", "SET SESSION wsrep_on = OFF"]
    assert sum("CREATE USER" in each for each in made) == 2
    of_mysql = set_up("mysql", "single", ["10.0.0.2"])
    assert "SET GLOBAL super_read_only = OFF" in of_mysql
    assert of_mysql[-1] == "SET GLOBAL super_read_only = @was"
    assert "DROP USER IF EXISTS root@'10.0.0.2'" in take_back("mysql", "single", ["10.0.0.2"])


PASSED: list[str] = ["mariadb-test  Ver 10.4"]
FAILED = "mysqltest: At line 3: query 'select * from nosuch' failed: ER_NO_SUCH_TABLE (1146): Table"


@pytest.mark.parametrize(
    ("code", "lines", "error_code", "text"),
    [
        (1, [FAILED], 1146, "line 3: query 'select * from nosuch' failed"),
        (
            1,
            ["mysqltest: At line 3: query 'x' failed: 1146: Table 'test.x' doesn't exist"],
            1146,
            "line 3: query 'x' failed: 1146",
        ),
        (
            1,
            ["mysqltest: At line 9: Query 'x' failed.", "ERROR 1146 (42S02): Table", "end"],
            1146,
            "line 9: Query 'x' failed. ERROR 1146",
        ),
        (
            1,
            ["mysqltest: At line 5: query 'x' succeeded - should have failed with error 1062"],
            0,
            "line 5: query 'x' succeeded",
        ),
        (
            1,
            ['mysqltest: In included file "./include/a.inc": ', FAILED],
            1146,
            "./include/a.inc, line 3",
        ),
        (
            1,
            ["--- x.result", "+++ x.reject", "@@ -1 +1 @@", "-1", "+2",
             "mysqltest: Result content mismatch"],
            0,
            "the result differs: -1",
        ),
        (139, ["Segmentation fault"], 0, "exit code 139: Segmentation fault"),
    ],
)  # fmt: skip
def test_what_its_output_means(code: int, lines: list[str], error_code: int, text: str) -> None:
    outcome = outcome_of(code, [*PASSED, *lines])
    assert outcome.error_code == error_code
    assert outcome.error is not None and outcome.error.startswith(text)


def test_one_that_passes_and_one_that_is_skipped() -> None:
    assert outcome_of(0, PASSED).error is None
    assert outcome_of(62, [*PASSED, "reason: Need debug build"]).skipped == "Need debug build"


def test_a_test_goes_with_its_result_and_what_it_sources_from_its_own_folder(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "suite" / "mine" / "t"
    folder.mkdir(parents=True)
    (folder / "x.test").write_text("--source y.inc\n--source include/have_innodb.inc\n")
    (folder / "y.inc").write_text("--source z.inc\n")
    (folder / "z.inc").write_text("select 1;\n")
    (folder / "x.result").write_text("1\n1\n")
    test = Mysqltest(folder / "x.test", folder / "x.result", {}, 1.0)
    packed = io.BytesIO(base64.b64decode(test.archive()))
    with tarfile.open(fileobj=packed) as archive:
        assert sorted(archive.getnames()) == [
            "suite/mine/t/x.test",
            "suite/mine/t/x.test.result",
            "suite/mine/t/y.inc",
            "suite/mine/t/z.inc",
            "y.inc",
            "z.inc",
        ]


def test_a_step_names_its_servers() -> None:
    step = step_of({"mysqltest @replica1": "x.test"})
    assert isinstance(step, MysqltestStep)
    assert step.text == "mysqltest @replica1: x.test" and step.files == ["x.test"]
    servers = step._servers(FakeStage().as_stage)
    assert [each.name for each in servers] == ["replica1", "mysql1"]
    with pytest.raises(StepError, match="nosuch is no server"):
        lost = step_of({"mysqltest": "x.test", "servers": ["nosuch"]})
        lost._servers(FakeStage().as_stage)


def test_another_file_is_no_test() -> None:
    with pytest.raises(ValueError, match=r"x\.sql is no \.test file"):
        step_of({"mysqltest": "x.sql"})

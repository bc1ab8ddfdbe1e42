"""Tests of the servers' own language on real servers, by way of `import`: one that passes, and one
whose result differs.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.live import SANDBOX, run
from integration.test_repro import carried_out, records_of

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]
GALERA = """\
--source include/galera_cluster.inc
--source count.inc
--connection node_1
CREATE TABLE t1 (id INT PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO t1 VALUES (1), (2);
--connection node_2
SET SESSION wsrep_sync_wait = 15;
--eval SELECT COUNT(*) = $wanted FROM t1
call mtr.add_suppression("nothing");
--error ER_DUP_ENTRY
INSERT INTO t1 VALUES (1);
DROP TABLE t1;
"""
RESULT = """\
connection node_2;
connection node_1;
connection node_1;
CREATE TABLE t1 (id INT PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO t1 VALUES (1), (2);
connection node_2;
SET SESSION wsrep_sync_wait = 15;
SELECT COUNT(*) = 2 FROM t1;
COUNT(*) = 2
1
call mtr.add_suppression("nothing");
INSERT INTO t1 VALUES (1);
ERROR 23000: Duplicate entry '1' for key 'PRIMARY'
DROP TABLE t1;
"""


def imported(path: Path, *argv: str) -> tuple[Path, dict[str, Any]]:
    """The draft of a source, and what `import` prints as data."""
    draft = path.with_suffix(".yaml")
    done = run([SANDBOX, "import", "--from", path, "--out", draft, "--json", *argv])
    return draft, json.loads(done.stdout)


def test_a_test_of_galera_passes_and_fails_by_its_result(tmp_path: Path) -> None:
    path = tmp_path / "mine.test"
    path.write_text(GALERA)
    (tmp_path / "count.inc").write_text("--let $wanted= 2\n")
    (tmp_path / "mine.result").write_text(RESULT)
    (tmp_path / "other.result").write_text(RESULT.replace("\n1\n", "\n0\n"))
    draft, said = imported(path)
    assert said["profile"] == "galera2"
    repro = yaml.safe_load(draft.read_text())
    other = {"mysqltest @galera2": str(path), "result": f"{tmp_path}/other.result", "name": "other"}
    repro["steps"].append(other)
    draft.write_text(yaml.safe_dump(repro, sort_keys=False))
    (record,) = records_of(carried_out("--repro", str(draft), "--versions", "11.8"))
    assert (record["repro"]["verdict"], record["repro"]["expected"]) == ("fixed", "fixed")
    passed, differs = record["repro"]["steps"]
    assert (passed["node"], passed["error"]) == ("galera1, galera2", None)
    assert (differs["node"], differs["error"]) == ("galera2, galera1", "the result differs: -0")

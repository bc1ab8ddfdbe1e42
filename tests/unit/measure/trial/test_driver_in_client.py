"""The driver's side of a trial as it runs beside the client node: programs, slots, log, hosts."""

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sandbox.measure.trial.prober_log import ProberLog, read_prober_log
from unit.measure.trial.prober_rig import FOLDERS, prober

PROGRAM = str(Path(__file__).with_name("made_up_program.py"))


def _load(name: str) -> ModuleType:
    before = [*sys.path]
    sys.path[:0] = FOLDERS
    try:
        return importlib.import_module(f"sandbox.measure.trial.in_client.{name}")
    finally:
        sys.path[:] = before


driver = _load("driver")
programs = driver.programs


def request(mode: str = "good", **changed: Any) -> dict[str, Any]:
    """What the container gets; the slots come quickly."""
    given: dict[str, Any] = {
        "driver": "made-up",
        "mode": mode,
        "run": [sys.executable, PROGRAM],
        "folder": "/",
        "concurrent": False,
        "connections": 2,
        "account": "[client]\nuser=sbtest\npassword=secret\n",
        "schema": "sandbox",
        "timeout_s": 0.5,
        "transaction": False,
        "rates": {"pooled": 100, "fresh": 20, "writer": 50, "reader": 0},
        "write": [
            {"node": "mysql1", "address": "172.18.0.2", "port": 3306},
            {"node": "replica1", "address": "172.18.0.3", "port": 3307},
        ],
        "seconds_limit": 60,
        "seed": 1,
        "first_op": 1,
    }
    return given | changed


class Ran:
    """One driver from its start to its end, its output as it was printed."""

    def __init__(self, asked: dict[str, Any], folder: Path, seconds: float = 0.6) -> None:
        self.hosts = folder / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")
        self.output = b""
        self._seconds = seconds
        self.began_ns = time.monotonic_ns() - 5_000_000_000
        self.ending = prober.Ending()
        places = (self.hosts, folder / "account.cnf")
        driver.run(asked, self._commands(), self._write, self.ending, places)

    def _commands(self) -> Iterator[str]:
        yield f"begin {self.began_ns}"
        yield "address replica1 172.18.0.9"
        time.sleep(self._seconds)
        yield "stop"
        self.ending.finished.wait(10)

    def _write(self, text: bytes) -> None:
        self.output += text

    @property
    def first(self) -> str:
        return self.output.decode().partition("\n")[0]

    @property
    def log(self) -> ProberLog:
        return read_prober_log(self.output.decode().splitlines()[1:])


def outcomes(log: ProberLog) -> set[tuple[int, str]]:
    """Outcome and code of every write that ended."""
    writes = log.writes
    return {
        (int(outcome), log.codes[code])
        for outcome, code in zip(writes.outcome, writes.code, strict=True)
    }


@pytest.mark.parametrize("concurrent", [False, True])
def test_slots_are_carried_out_by_programs_and_logged_as_by_the_prober(
    tmp_path: Path, concurrent: bool
) -> None:
    ran = Ran(request(concurrent=concurrent), tmp_path)
    assert ran.first == "ready\tmade up for sbtest at mysql1.driver:3306,replica1.driver:3307"
    log = ran.log
    assert log.ended and outcomes(log) == {(0, "-")}
    assert len(log.acks("pooled")) > 20 and len(log.acks("fresh")) > 3
    assert log.reads.ok.all() and not len(log.reads.stale_op) and log.reads.asked.max() > 5
    assert log.request["version"].startswith("made up")


def test_its_times_are_those_of_the_prober(tmp_path: Path) -> None:
    assert 5e6 < Ran(request(), tmp_path, 0.4).log.writes.due[0] < 15e6


def test_no_password_is_in_the_log(tmp_path: Path) -> None:
    assert b"secret" not in Ran(request(), tmp_path, 0.1).output
    assert (tmp_path / "account.cnf").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        ("refused", (1, "1290")),
        ("lost", (2, "PROTOCOL_CONNECTION_LOST")),
        ("unreachable", (1, "dial-error")),
    ],
)
def test_an_error_proves_what_its_code_and_phase_prove(
    tmp_path: Path, mode: str, outcome: tuple[int, str]
) -> None:
    log = Ran(request(mode), tmp_path, 0.3).log
    assert outcomes(log) == {outcome}
    assert log.error_texts == {
        outcome[1]: {"refused": "read only", "lost": "gone away"}.get(mode, "refused")
    }


@pytest.mark.parametrize(
    ("given", "code"),
    [("1290", 1290), ("08000", "08000"), ("dial error", "dial-error"), ("", "error")],
)
def test_an_sql_state_is_no_number_of_an_error(given: str, code: int | str) -> None:
    answer = programs.answer_of("error", ["sent", given, "text"])
    assert answer.code == code and answer.text == "text"


def test_a_program_that_ends_leaves_the_outcome_open_and_is_started_again(tmp_path: Path) -> None:
    log = Ran(request("ends", rates={"pooled": 10, "writer": 50}), tmp_path, 0.5).log
    assert outcomes(log) == {(2, "program-ended")} and len(log.writes.op) > 1
    assert log.reads.ok.any()


def test_a_slot_that_finds_no_free_connection_was_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "FINISH_S", 0.5)
    asked = request("silent", timeout_s=0.1, rates={"pooled": 50})
    found = outcomes(Ran(asked, tmp_path, 0.5).log)
    assert (1, "none-free") in found and found <= {(1, "none-free"), (2, "no_outcome")}


def test_a_program_that_does_not_start_says_why(tmp_path: Path) -> None:
    ran = Ran(request("broken"), tmp_path, 0)
    assert ran.output == b"failed\tno such library\n"
    ran = Ran(request(run=["/no/such/program"]), tmp_path, 0)
    assert ran.first.startswith("failed\t") and "/no/such/program" in ran.first


def test_a_driver_that_is_stopped_before_its_first_slot_prints_no_log(tmp_path: Path) -> None:
    written: list[bytes] = []
    (tmp_path / "hosts").touch()
    places = (tmp_path / "hosts", tmp_path / "account.cnf")
    driver.run(request(), iter(["stop\n"]), written.append, prober.Ending(), places)
    assert b"".join(written).startswith(b"ready\t") and len(written) == 1


def test_a_host_keeps_its_name_where_its_address_changes(tmp_path: Path) -> None:
    ran = Ran(request(), tmp_path, 0.2)
    assert ran.hosts.read_text().splitlines() == [
        "127.0.0.1 localhost",
        "172.18.0.2 mysql1.driver",
        "172.18.0.9 replica1.driver",
    ]


def test_the_boot_starts_it_from_what_it_was_shipped(tmp_path: Path) -> None:
    files = {path.name: path.read_text() for path in Path(FOLDERS[0]).glob("*.py")}
    files["driver.py"] = "def main():\n    print('started', input())\n"
    boot = (Path(FOLDERS[0]) / "driver_boot.py").read_text()
    done = subprocess.run(
        [sys.executable, "-c", boot],
        input=json.dumps(files) + "\nrequest\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "started request\n"

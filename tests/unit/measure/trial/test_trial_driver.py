"""A trial with a driver beside the prober: when each begins and ends, its figures, ledger and
checks, what is refused.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.measure.trial import driver_client
from sandbox.measure.trial.drivers import DriverChoice, driver_asked, every_driver
from sandbox.record.record import Record
from sandbox.record.trial import DriverRecord
from sandbox.report.driver import driver_facts
from sandbox.report.trial import time_text
from sandbox.stack.protocol import EntryPoint, ExecResult, Stream
from unit.fake_stack import CLIENT, server
from unit.measure.trial import trial_world
from unit.measure.trial.trial_runs import checks_of, trial_of, try_once
from unit.measure.trial.trial_world import BASELINE_US, HEADER, ProberStream, TrialStack, World

ENTRY = EntryPoint("mysql1", "mysql1", 3306, 1, "writer")
PROXY = server("haproxy1", "proxy", term="haproxy", component="haproxy", family=None)
BACK_LATER_US = 1_500_000
"""The driver is out so much longer than the prober."""


class DriverStream(ProberStream):
    """The driver's lines: it is ready at once, and writes from ``begin`` on."""

    def __init__(self, world: World, ready: bool = True) -> None:
        self.began = False
        self.requests: list[dict[str, Any]] = []
        self._ready = ready
        super().__init__(world, {})

    def print(self, *fields: object) -> None:
        if self.began:
            super().print(*fields)

    def send(self, line: str) -> None:
        if line.startswith("{"):
            self.requests.append(json.loads(line))
            if len(self.requests) == 2:
                words = ("ready", "Made-Up 1.2") if self._ready else ("failed", "no such library")
                self._print_now(words)
        elif line.startswith("begin"):
            self.began = True
            request = {**self.requests[1], "version": "Made-Up 1.2"}
            self.print(json.dumps({**HEADER, "request": request}))
            self._world._advance(BASELINE_US / 1e6)  # as the prober's start does
        elif line == "stop":
            self.send_stop()
        else:
            super().send(line)

    def send_stop(self) -> None:
        """It ends in order."""
        super().send("stop")

    def _print_now(self, words: Sequence[str]) -> None:
        self._lines.put("\t".join(words))
        if words[0] == "failed":
            self.end()


class DrivenWorld(World):
    """A world with a driver, which is out for longer than the prober and writes one row twice."""

    def __init__(self) -> None:
        super().__init__()
        self.driver: DriverStream | None = None
        self.of_driver: list[int] = []
        self._out_until_us = 0
        self._driver_op = 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.driver:
            self.driver.settled()

    def _slot(self) -> None:
        super()._slot()
        if self.driver is None or not self.driver.began or self.prober_us % 20_000:
            return
        if self.broken:
            self._out_until_us = self.prober_us + BACK_LATER_US
        due, is_out = self.prober_us, self.prober_us < self._out_until_us
        self._driver_op += 1
        self.driver.print("i", self._driver_op, "pooled", due)
        outcome = ("unknown", "GONE") if is_out else ("acked", "-")
        if is_out:
            self.driver.print("x", "GONE", "the server has gone away")
        else:
            self.of_driver.append(self._driver_op)
        self.driver.print("o", self._driver_op, due + 100, due + 2100, *outcome, 1)


class DrivenStack(TrialStack):
    """A stack beside whose client a driver runs."""

    world: DrivenWorld
    ready = True

    def stream_beside(self, node: str, image: str, argv: Sequence[str], weight: float) -> Stream:
        assert (node, image, argv[0]) == ("client1", "drivers", "python3")
        self.world.driver = DriverStream(self.world, self.ready)
        return self.world.driver

    def run(
        self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        if list(argv) == ["cat", "/sandbox/app.cnf"]:
            return ExecResult(0, "[client]\nuser=sbtest\n", "")
        return super().run(node, argv, stdin, timeout_s)

    def ask_session(
        self, node: str, argv: Sequence[str], line: str, timeout_s: float = 60.0
    ) -> ExecResult:
        request: Mapping[str, Any] = json.loads(line) if line.startswith("{") else {}
        if request.get("table") != "ledger_of_driver":
            return super().ask_session(node, argv, line, timeout_s)
        ops = [f"{op}-{op}" for op in self.world.of_driver]
        rows = {"hosts": {"mysql1": ops}, "more_than_once": {"3": 2}, "rows": len(ops) + 1}
        return ExecResult(0, json.dumps({**rows, "gtid": None, "error": None}), "")


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> DrivenWorld:
    """A world whose driver module goes by its time, too."""
    monkeypatch.setattr(trial_world, "World", DrivenWorld)
    made = trial_world.made_world(monkeypatch)
    assert isinstance(made, DrivenWorld)
    monkeypatch.setattr(driver_client, "time", made)
    return made


def tried(
    world: DrivenWorld, folder: Path, monkeypatch: pytest.MonkeyPatch, **given: Any
) -> tuple[Record, DriverRecord | None]:
    """A trial with a driver."""
    stack = given.pop("stack", None) or DrivenStack(world)
    asked = {"driver": driver_asked("connector-j:sequential"), **given}
    record, _, _ = try_once(world, folder, monkeypatch, stack=stack, **asked)
    return record, trial_of(record).driver if record.trial else None


def test_its_outage_stands_beside_the_probers(
    driven: DrivenWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, found = tried(driven, tmp_path, monkeypatch)
    assert record.status == "ok" and found is not None
    assert (found.name, found.mode, found.version) == ("connector-j", "sequential", "Made-Up 1.2")
    assert found.hosts == ["mysql1", "replica1"]
    metrics: Any = record.metrics
    assert metrics.driver_rto_ms == pytest.approx((metrics.rto_ms or 0) + 1500, abs=50)
    assert metrics.driver_write_errors > 50 and metrics.driver_lost == 0
    assert metrics.driver_duplicate == 1
    assert found.errors == {"GONE": "the server has gone away"}


def test_its_ledger_has_checks_of_its_own(
    driven: DrivenWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _ = tried(driven, tmp_path, monkeypatch)
    found = checks_of(record)
    assert (found["driver_lost"], found["driver_duplicate"]) == ("pass", "fail")
    assert (found["lost"], found["duplicate"]) == ("pass", "pass")
    (twice,) = [each.detail for each in record.checks if each.name == "driver_duplicate"]
    assert twice == "1 writes are there more than once: op 3"


def test_a_report_names_both_outages_its_errors_and_what_is_there_twice(
    driven: DrivenWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _ = tried(driven, tmp_path, monkeypatch)
    said = {fact.name: fact.text for fact in driver_facts(record, time_text)}
    assert said["driver"].startswith("connector-j:sequential (Made-Up 1.2) at mysql1, replica1;")
    assert "; the prober's own: " in said["RTO of the driver"]
    assert said["driver's error"].endswith("during): the server has gone away")
    assert "1 there twice (op 3)" in said["ledger of the driver"]


def test_a_driver_that_does_not_start_ends_the_trial_with_its_words(
    driven: DrivenWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = DrivenStack(driven)
    stack.ready = False
    record, _ = tried(driven, tmp_path, monkeypatch, stack=stack)
    assert record.status == "infra_error"
    assert record.reason == "the driver connector-j:sequential does not start: no such library"


@pytest.mark.parametrize("in_order", [True, False])
def test_an_interrupted_trial_keeps_the_probers_figures_and_those_of_a_driver_that_ended(
    in_order: bool, driven: DrivenWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_order:
        monkeypatch.setattr(DriverStream, "send_stop", DriverStream.end)
    driven.interrupt_at_s = 11.5
    record, found = tried(driven, tmp_path, monkeypatch)
    assert record.status == "interrupted"
    assert record.metrics.rto_ms is not None
    assert (found is not None) is in_order
    assert ("the driver had not ended" in (record.reason or "")) is not in_order


def test_the_request_has_no_password_on_a_command_line(
    driven: DrivenWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried(driven, tmp_path, monkeypatch)
    assert driven.driver is not None
    files, request = driven.driver.requests
    assert {"driver.py", "driver_program.py", "prober.py"} <= set(files)
    assert request["account"].startswith("[client]") and request["mode"] == "sequential"
    assert [each["node"] for each in request["write"]] == ["mysql1", "replica1"]


def test_a_trial_without_one_has_no_trace_of_it(
    driven: DrivenWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, found = tried(driven, tmp_path, monkeypatch, driver=None)
    assert found is None and driven.driver is None
    assert not [name for name in checks_of(record) if name.startswith("driver_")]
    assert record.metrics.model_dump()["driver_rto_ms"] is None


@pytest.mark.parametrize(
    ("asked", "nodes", "entry", "what", "known"),
    [
        (
            "connector-j:sequential",
            [server("mysql1"), server("mysql2"), PROXY],
            EntryPoint("haproxy1", "haproxy1", 3306, 1, "haproxy1:rw"),
            "the driver connector-j:sequential takes a list of servers",
            "the entry point haproxy1:rw is a proxy, which is one address",
        ),
        (
            "mysqlclient:host-list",
            [server("mysql1")],
            ENTRY,
            "the driver mysqlclient:host-list takes a list of servers",
            "the group of the entry point has one server",
        ),
        (
            "node-mysql",
            [server("mysql1")],
            ENTRY,
            "the driver node-mysql does not work with servers of the family mysql",
            "it cannot log in by caching_sha2_password, which MySQL has by default since 8.0",
        ),
    ],
)
def test_a_stack_that_a_driver_does_not_fit_is_refused_before_anything_starts(
    asked: str, nodes: list[Any], entry: EntryPoint, what: str, known: str
) -> None:
    choice: DriverChoice = driver_asked(asked)
    with pytest.raises(SandboxError) as refused:
        choice.refuse_unfit([*nodes, CLIENT], entry)
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert refused.value.lines()[:2] == [what, known]


def test_a_mode_beside_a_name_and_one_behind_it_agree() -> None:
    assert driver_asked("connector-j:sequential", "sequential").mode == "sequential"
    with pytest.raises(SandboxError, match="contradict each other"):
        driver_asked("connector-j:sequential", "replication")


def test_one_address_is_that_of_the_entry_point() -> None:
    servers = [("galera1", 3306), ("galera2", 3306)]
    assert driver_asked("pymysql").hosts(servers, ENTRY) == [("mysql1", 3306)]
    assert driver_asked("connector-j:replication").hosts(servers, ENTRY) == servers
    assert len(every_driver()) > 10

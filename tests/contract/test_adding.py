"""Adding anything that CONTRIBUTING.md lists is one file or folder: in a copy, each is found and
used.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contract.copied_checkout import CopiedPython, copied_checkout, remove_bytecode
from sandbox.core.paths import CHECKOUT

SERVER = """\
x-component:
  help: MySQL with a hat on
  based_on: mysql
  image: mysql
services:
  hatted: {}
"""
PROXY = """\
x-component:
  help: says hello to every session
  kind: proxy
  attaches: group
  attaches_to: [mysql]
  image: haproxy
  memory_mb: 10
  ports: {rw: 7}
  ready: {query: "select 1", expect: "1", via: client}
services:
  greeter: {command: [greet]}
"""
SETTING = """\
help: at most nine connections
applies_to: databases
variants:
  - when: {component: [mysql]}
    variables: {max_connections: 9}
    proof: {query: "select @@max_connections", expect: "9"}
"""
MATRIX = """\
title: Connections
question: Do nine do?
common: {profile: mysql@9.7, workload: nine_reads}
factors: {connections: {many: {}, nine: {add: nine-connections}}}
baseline: {connections: many}
"""
FAULT_PROFILE = """\
title: The writer gets a cup, its operator another
steps:
  - {at: 10s, fault: coffee-spilt, target: writer, for: 20s}
  - {at: 40s, action: tea-break, steep_s: 5}
"""
COMMAND = '''\
"""hello: a word."""

from sandbox.cli.registry import About

ABOUT = About(group="results", after="export", needs_engine=False)


def command() -> None:
    """Say hello."""
    print("hello")
'''
WORKLOAD = """\
help: nine reads
workload: sysbench
options: {script: oltp_point_select}
"""
OWN_WORKLOAD = """\
'Nothing but updates.'

from pydantic import Field

from sandbox.load.common.sysbench_load import LuaLoad


class NineWrites(LuaLoad):
    'One option.'

    batch: int = Field(default=9, ge=1, description="writes of a transaction")

"""
OWN_SCRIPT = """\
local engine = require("engine")
engine.load {
   kinds = {"write"},
   thread = function(job)
      return {draw = function() return "write", function() job.connection:write("DO 9") end end}
   end,
}
"""
FAULT = '''\
"""coffee-spilt: a drink on a server."""

from collections.abc import Mapping

from pydantic import Field

from sandbox.failure.fault import Fault, Scene
from sandbox.failure.faults.common.node import inside
from sandbox.stack.protocol import NodeControl


class CoffeeSpilt(Fault):
    """The node stands still until somebody has wiped it."""

    pour_s: float = Field(default=1, ge=0, le=60, description="seconds until the cup is empty")

    def inject(self, node: NodeControl, scene: Scene) -> None:
        inside(node, "true", "to spill coffee")
        node.pause()

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:
        return None if node.state() == "paused" else "it is dry"

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:
        node.unpause()
'''
ACTION = '''\
"""Tea break: nothing happens for a while."""

from pydantic import Field

from sandbox.failure.action import Action, Operation


class TeaBreak(Action):
    """The operator has a cup of tea."""

    steep_s: float = Field(default=240, ge=0, le=600, description="seconds until it is strong")

    def perform(self, operation: Operation) -> str:
        return f"{operation.client} had tea after {self.steep_s:g} s"
'''
CHECK = '''\
"""No write came back that had been given up."""

from sandbox.measure.trial.check import Evidence, Finding, shown, unread


def judge(evidence: Evidence) -> Finding:
    """By the rows of the ledger."""
    if evidence.ledger is None or evidence.ledger.recovered is None:
        return "unknown", unread(evidence)
    if evidence.ledger.recovered.count:
        return "fail", shown(evidence.ledger.recovered)
    return "pass", "none came back"
'''
DRIVER = """\
help: a driver that knits
packages: [knitting]
run: [knit, program]
modes:
  purl: {servers: several, help: "backwards"}
"""
REPRO = """\
title: Nine sessions greet one another
links: [https://example.org/9]
question: Do all of them answer?
profile: mysql
steps:
  - yodel: nine times
    name: greeting
expect:
  bug: [{echo: nothing}]
  fixed: [{echo: nine times}]
affected: {mysql: ['9.9']}
"""
STEP = '''\
"""yodel: calls into the valley."""

from typing import ClassVar

from pydantic import Field

from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage


class Yodel(ReproStep):
    """A call that is heard far away."""

    value_is: ClassVar[str] = "how often"
    often: str = Field(alias="value")

    @property
    def text(self) -> str:
        return f"yodel: {self.often}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        now = stage.now_ms()
        rows = [[[self.often]]]
        return StepRecord(
            number=number, text=self.text, name=self.name, began_ms=now, ended_ms=now, rows=rows
        )
'''
EXPECTATION = '''\
"""echo: what comes back."""

from typing import ClassVar

from pydantic import Field

from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage


class Echo(Expectation):
    """The call comes back."""

    value_is: ClassVar[str] = "what comes back"
    heard: str = Field(alias="value")

    @property
    def text(self) -> str:
        return f"echo: {self.heard}"

    def looked(self, stage: Stage) -> Looked:
        (called,) = stage.steps[-1].rows[-1][0]
        return Looked(called == self.heard, f"heard {called}")
'''
FILES = {
    "images/drivers/knitting/driver.yaml": DRIVER,
    "compose/hatted/compose.yaml": SERVER,
    "compose/greeter/compose.yaml": PROXY,
    "profiles/settings/nine-connections.yaml": SETTING,
    "profiles/workloads/nine_reads.yaml": WORKLOAD,
    "profiles/matrices/connections.yaml": MATRIX,
    "profiles/faults/two-cups.yaml": FAULT_PROFILE,
    "profiles/repros/greetings.yaml": REPRO,
    "scripts/sandbox/repro/steps/yodel.py": STEP,
    "scripts/sandbox/repro/expectations/echo.py": EXPECTATION,
    "scripts/sandbox/cli/commands/hello.py": COMMAND,
    "scripts/sandbox/failure/faults/coffee_spilt.py": FAULT,
    "scripts/sandbox/failure/actions/tea_break.py": ACTION,
    "scripts/sandbox/measure/trial/checks/none_recovered.py": CHECK,
    "scripts/sandbox/load/nine_writes/__init__.py": OWN_WORKLOAD,
    "scripts/sandbox/load/nine_writes/load.lua": OWN_SCRIPT,
}


@dataclass(frozen=True)
class Copy:
    """The checkout with one more of each, and its Python."""

    folder: Path
    python: CopiedPython


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """Made and imported once."""
    folder = tmp_path_factory.mktemp("copy")
    copied_checkout(folder, ("compose", "images", "profiles", "scripts", "tests"), ("golden",))
    shutil.copy(CHECKOUT / "pyproject.toml", folder)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    python = CopiedPython(folder, {"PYTHONPATH": str(folder / "scripts")})
    yield Copy(folder, python)
    python.close()
    remove_bytecode(folder)


def run(copy: Copy, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the copy."""
    return copy.python.run("-m", "sandbox.cli", *words)


def printed(copy: Copy, script: str) -> list[str]:
    """Lines that a script prints which uses the package of the copy."""
    done = copy.python.run("-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def sandbox(copy: Copy, *words: str) -> str:
    """What a command of the copy prints."""
    done = run(copy, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_terms_are_found(copy: Copy) -> None:
    rooms: dict[str, dict[str, str]] = json.loads(sandbox(copy, "profiles", "--json"))
    terms = {name: text for room in rooms.values() for name, text in room.items()}
    assert terms["hatted"] == "MySQL with a hat on"
    assert terms["greeter"] == "says hello to every session"
    assert terms["nine-connections"] == "at most nine connections"


def test_a_server_a_proxy_and_a_setting_are_planned(copy: Copy) -> None:
    script = """
import re
from sandbox.core.paths import CHECKOUT
from sandbox.profile.compose import compose_document
from sandbox.profile.images import Availability
from sandbox.profile.names import Identity
from sandbox.profile.plan import PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER
library = load_library(CHECKOUT)
for profile in ("hatted", "mysql+greeter+nine-connections"):
    plan = make_plan(PlanRequest(profile), library, Availability(registry=lambda: True))
    document = compose_document(plan, PLACEHOLDER, Identity("made-up", "/here"))
    print(*document["services"])
    print("9" in re.findall("max_connections *= *([0-9]+)", str(document["configs"])))
"""
    assert printed(copy, script) == [
        "hatted1 client1",
        "False",
        "mysql1 greeter1 client1",
        "True",
    ]


def test_a_matrix_resolves_to_cells_with_the_new_setting_and_workload(copy: Copy) -> None:
    script = """
from sandbox.matrix.file import matrix_path, read_matrix
from sandbox.matrix.loads import cells_of_file
from sandbox.matrix.selection import select
path = matrix_path("connections")
selection = select(read_matrix(path))
for cell, loaded in zip(selection.cells, cells_of_file(selection, path)):
    print(cell.plan_request.profile, loaded.load.workload.name)
"""
    assert printed(copy, script) == [
        "mysql@9.7 nine_reads",
        "mysql@9.7+nine-connections nine_reads",
    ]


def test_a_fault_profile_is_what_a_trial_goes_through(copy: Copy) -> None:
    script = """
from sandbox.measure.trial.scenario import scenario_of
for step in scenario_of(["two-cups"]).schedule().steps:
    print(step.at_s, step.fault, step.action)
"""
    assert printed(copy, script) == ["10.0 coffee-spilt None", "40.0 None tea-break"]


def test_a_repro_with_a_step_and_an_expectation_of_its_own_is_carried_out(copy: Copy) -> None:
    script = """
from types import SimpleNamespace
from sandbox.repro.file import read_repro
repro = read_repro("greetings")
stage = SimpleNamespace(now_ms=lambda: 0.0, steps=[])
stage.steps.append(repro.steps[0].carry_out(stage, 1))
for side in (repro.expect.bug, repro.expect.fixed):
    found = side[0].look(stage)
    print(side[0].text, found.met, found.seen)
"""
    assert printed(copy, script) == [
        "echo: nothing False heard nine times",
        "echo: nine times True heard nine times",
    ]


@pytest.mark.parametrize(
    ("what", "column", "names"),
    [
        ("repros", "repro", {"greetings"}),
        ("workloads", "workload", {"nine_reads", "nine-writes"}),
        ("matrices", "matrix", {"connections"}),
    ],
)
def test_what_is_run_is_found(copy: Copy, what: str, column: str, names: set[str]) -> None:
    rows: list[dict[str, Any]] = json.loads(sandbox(copy, "list", what, "--json"))[what]
    assert names <= {row[column] for row in rows}


@pytest.mark.parametrize(
    ("what", "row"),
    [
        (
            "faults",
            {
                "fault": "coffee-spilt",
                "options": ["pour_s"],
                "help": "The node stands still until somebody has wiped it.",
            },
        ),
        (
            "actions",
            {
                "action": "tea-break",
                "options": ["steep_s"],
                "help": "The operator has a cup of tea.",
            },
        ),
        ("workloads", {"workload": "nine-writes", "help": "Nothing but updates."}),
        (
            "drivers",
            {"driver": "knitting", "modes": ["one", "purl"], "help": "a driver that knits"},
        ),
    ],
)
def test_it_is_listed_with_its_options_and_help(copy: Copy, what: str, row: dict[str, Any]) -> None:
    assert row in json.loads(sandbox(copy, "list", what, "--json"))[what]


@pytest.mark.parametrize(
    ("words", "what", "known"),
    [
        (
            ("fault", "--fault", "coffee-spilt", "--options", "por_s=2"),
            "the fault coffee-spilt has no option 'por_s'",
            "did you mean 'pour_s'?",
        ),
        (
            ("trial", "--fault", "tea-break", "--options", "steep_s=900"),
            "steep_s=900 is not valid for the action tea-break",
            "at most 600.0 is expected (seconds until it is strong)",
        ),
        (
            ("trial", "--fault", "hang", "--driver", "knitting:plain"),
            "the driver knitting has no mode 'plain'",
            "its modes: one, purl",
        ),
        (
            ("bench", "--workload", "nine-writes", "--options", "batsh=2"),
            "OPTIONS: this workload has no option 'batsh'",
            "did you mean 'batch'?",
        ),
    ],
)
def test_a_command_takes_it_and_knows_its_options(
    copy: Copy, words: tuple[str, ...], what: str, known: str
) -> None:
    done = run(copy, *words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[:2] == [what, known]


def test_a_fault_and_an_action_are_steps_of_a_trial(copy: Copy) -> None:
    script = """
from sandbox.failure.action import action_named
from sandbox.failure.fault import fault_named
from sandbox.measure.trial.scenario import scenario_of
for name in ("coffee-spilt", "tea-break"):
    (step,) = scenario_of([name]).schedule().steps
    print(step.fault, step.action)
print(repr(fault_named("coffee-spilt", {"pour_s": "2"})))
print(repr(action_named("tea-break")))
"""
    assert printed(copy, script) == [
        "coffee-spilt None",
        "None tea-break",
        "CoffeeSpilt(pour_s=2.0)",
        "TeaBreak(steep_s=240)",
    ]


def test_a_check_judges_every_trial(copy: Copy) -> None:
    script = """
from sandbox.measure.trial.check import Evidence, judge_all
for record in judge_all(Evidence(None, unread={"db1": "gone"})):
    print(record.name, record.verdict, record.detail)
"""
    judged = printed(copy, script)
    assert "none_recovered unknown db1: gone" in judged
    assert len(judged) > 1


def test_the_tests_of_every_plugin_take_the_new_ones(copy: Copy) -> None:
    files = (
        "tests/contract/test_faults.py",
        "tests/contract/test_commands.py",
        "tests/contract/test_drivers.py::test_its_lists_are_read_by_the_dockerfile",
        "tests/contract/test_workloads.py::test_an_option_that_there_is_none_of_is_refused",
        "tests/unit/failure/faults/test_every_fault.py",
        "tests/unit/failure/test_by_name.py",
        "tests/unit/measure/trial/test_schedule.py",
        "tests/unit/measure/trial/checks/test_checks.py",
    )
    new = "coffee-spilt or tea-break or none_recovered or hello or nine-writes or knitting"
    options = ("-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", new)
    done = copy.python.run(*options, *files)
    assert done.returncode == 0, done.stdout
    passed = [line for line in done.stdout.splitlines() if " PASSED" in line]
    for name in new.split(" or "):
        assert any(f"[{name}]" in line for line in passed), name


def test_a_command_runs_and_is_in_the_guide(copy: Copy) -> None:
    assert sandbox(copy, "hello") == "hello\n"
    results = sandbox(copy, "help").partition("\nresults\n")[2].splitlines()
    export = next(number for number, line in enumerate(results) if "make export" in line)
    assert results[export + 1] == "  make hello       Say hello."


ROWS = {
    "component": ["compose/hatted/compose.yaml", "compose/greeter/compose.yaml"],
    "setting": ["profiles/settings/nine-connections.yaml"],
    "command": ["scripts/sandbox/cli/commands/hello.py"],
    "sysbench workload": ["profiles/workloads/nine_reads.yaml"],
    "other workload": [
        "scripts/sandbox/load/nine_writes/__init__.py",
        "scripts/sandbox/load/nine_writes/load.lua",
    ],
    "fault": ["scripts/sandbox/failure/faults/coffee_spilt.py"],
    "action": ["scripts/sandbox/failure/actions/tea_break.py"],
    "driver": ["images/drivers/knitting/driver.yaml"],
    "check": ["scripts/sandbox/measure/trial/checks/none_recovered.py"],
    "metric": [],  # test_adding_a_metric.py
    "fault profile": ["profiles/faults/two-cups.yaml"],
    "repro": ["profiles/repros/greetings.yaml"],
    "step of a repro": ["scripts/sandbox/repro/steps/yodel.py"],
    "expectation of a repro": ["scripts/sandbox/repro/expectations/echo.py"],
    "matrix": ["profiles/matrices/connections.yaml"],
}
"""What the guide says can be added → what these tests add, and nothing else."""


def test_the_guide_has_a_row_for_each_with_paths_that_exist() -> None:
    text = (CHECKOUT / "CONTRIBUTING.md").read_text()
    table = text.partition("## Adding something")[2].partition("\n\nTo add")[0]
    rows = [line.split(" | ") for line in table.strip().splitlines()[2:]]
    where = {what.removeprefix("| "): place for what, place, *_ in rows}
    assert list(where) == list(ROWS)
    assert {path for paths in ROWS.values() for path in paths} == FILES.keys()
    for what, paths in ROWS.items():
        folder = re.findall(r"`([a-z]+/[\w./]*)`", where[what])[0]
        assert all(path.startswith(folder) for path in paths), what
    for path in re.findall(r"`([a-z]+/[\w./]+)`", table):
        assert (CHECKOUT / path).exists(), path


def test_a_workload_without_its_script_is_refused_in_three_lines(copy: Copy) -> None:
    script = copy.folder / "scripts/sandbox/load/nine_writes/load.lua"
    script.rename(script.with_suffix(".kept"))
    done = run(copy, "list", "workloads")
    script.with_suffix(".kept").rename(script)
    assert (
        done.returncode == 5 and "load/nine_writes/ has no load.lua" in done.stderr.splitlines()[0]
    )
    assert len(done.stderr.splitlines()) == 3

"""Adding a component, a setting, a workload, a matrix or a command is one file or folder: in a copy, each is found."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.paths import CHECKOUT

COMPONENT = """\
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

from sandbox.load.common.lua_load import LuaLoad


class NineWrites(LuaLoad):
    'No options.'

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
FILES = {
    "compose/greeter/compose.yaml": COMPONENT,
    "profiles/settings/nine-connections.yaml": SETTING,
    "profiles/workloads/nine_reads.yaml": WORKLOAD,
    "profiles/matrices/connections.yaml": MATRIX,
    "scripts/sandbox/cli/commands/hello.py": COMMAND,
    "scripts/sandbox/load/nine_writes/__init__.py": OWN_WORKLOAD,
    "scripts/sandbox/load/nine_writes/load.lua": OWN_SCRIPT,
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout with one more of each."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("compose", "images", "profiles", "scripts"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the copy."""
    return subprocess.run(
        [sys.executable, "-m", "sandbox.cli", *words],
        env={**os.environ, "PYTHONPATH": str(copy / "scripts")},
        capture_output=True,
        text=True,
        check=False,
    )


def sandbox(copy: Path, *words: str) -> str:
    """What a command of the copy prints."""
    done = run(copy, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_terms_are_found(copy: Path) -> None:
    rooms: dict[str, dict[str, str]] = json.loads(sandbox(copy, "profiles", "--json"))
    terms = {name: text for room in rooms.values() for name, text in room.items()}
    assert terms["greeter"] == "says hello to every session"
    assert terms["nine-connections"] == "at most nine connections"


@pytest.mark.parametrize(
    ("what", "column", "names"),
    [("workloads", "workload", {"nine_reads", "nine-writes"}), ("matrices", "matrix", {"connections"})],
)
def test_what_is_run_is_found(copy: Path, what: str, column: str, names: set[str]) -> None:
    rows: list[dict[str, Any]] = json.loads(sandbox(copy, "list", what, "--json"))[what]
    assert names <= {row[column] for row in rows}


def test_a_command_runs_and_is_in_the_guide(copy: Path) -> None:
    assert sandbox(copy, "hello") == "hello\n"
    results = sandbox(copy, "help").partition("\nresults\n")[2].splitlines()
    export = next(number for number, line in enumerate(results) if "make export" in line)
    assert results[export + 1] == "  make hello       Say hello."


def test_a_workload_without_its_script_is_refused_in_three_lines(copy: Path) -> None:
    script = copy / "scripts/sandbox/load/nine_writes/load.lua"
    script.rename(script.with_suffix(".kept"))
    done = run(copy, "list", "workloads")
    script.with_suffix(".kept").rename(script)
    assert done.returncode == 5 and "load/nine_writes/ has no load.lua" in done.stderr.splitlines()[0]
    assert len(done.stderr.splitlines()) == 3

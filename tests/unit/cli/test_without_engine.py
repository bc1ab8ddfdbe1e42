"""Commands that say that they need no engine need none; a `sql` imports little."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.cli.commands import config, doctor, plan, profiles
from sandbox.cli.commands import help as help_command
from sandbox.cli.commands import list as list_command
from sandbox.cli.common import lists
from sandbox.cli.common.exports import export
from sandbox.cli.common.importing import import_
from sandbox.cli.common.over_time import compare, history
from sandbox.cli.common.packing import pack
from sandbox.cli.common.queries import query
from sandbox.cli.common.results import find_result
from sandbox.cli.registry import COMMANDS, guide_of
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack import engine
from unit.cli.test_result_commands import a_result
from unit.report.made_up import write_report

ROOT = Path(__file__).resolve().parents[3]


def a_report(folder: Path) -> str:
    """The text of a bug report."""
    path = folder / "report.txt"
    path.write_text("A bug\n\nmysql> select 1;\n")
    return str(path)


LOOKS: dict[str, Callable[[Path], object]] = {
    "help": lambda _: help_command.command(),
    "profiles": lambda _: profiles.command(),
    "list": lambda _: list_command.command(what="results"),
    "query": lambda results: query("select count(*) from runs", results=results),
    "history": lambda results: history(results=results),
    "compare": lambda results: compare(min(map(str, results.iterdir())), "latest", results=results),
    "export": lambda results: export("benchstat", results=results),
    "pack": lambda results: pack(
        "gap-lock-deadlock", None, None, (), str(results / "pack"), False, local=False
    ),
    "report": lambda results: write_report(find_result(None, results, "report")),
    "import": lambda results: import_(a_report(results), str(results / "mine.yaml"), as_json=False),
}
"""Commands that do all of their work without an engine."""
PLANS: dict[str, Callable[[str], object]] = {
    "plan": lambda profile: plan.command(profile),
    "config": lambda profile: config.command(profile),
}
"""Commands that ask an engine what images it has; where there is none, they say so."""


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nobody may start the engine's client, with two results."""

    def refuse(argv: Any, **_: Any) -> None:
        pytest.fail(f"{argv} was started")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(engine, "_popen", refuse)
    results = tmp_path / "results"
    a_result(results)
    a_result(results, days=1)
    monkeypatch.setattr(lists, "RESULTS", results)
    return results


@pytest.fixture
def no_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without the engine's client."""
    monkeypatch.setenv("PATH", str(tmp_path))


def test_each_command_that_says_so_is_proved_here() -> None:
    without = {name for name in COMMANDS.names() if not guide_of(name).about.needs_engine}
    assert without == {*LOOKS, *PLANS, "doctor"}


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_starts_no_engine(
    no_engine: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    LOOKS[name](no_engine)
    assert capsys.readouterr().out or list(no_engine.glob("*/report.html"))


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.usefixtures("no_client")
def test_a_plan_without_a_client_refuses_typing_errors_and_says_that_no_engine_was_asked(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SandboxError) as mistyped:
        PLANS[name]("mysqll")
    assert mistyped.value.exit_code is ExitCode.BAD_INPUT
    PLANS[name]("mysql@9.7")
    printed = capsys.readouterr()
    said = " ".join((printed.out + printed.err).split())
    assert "images were not looked up" in said and "variables were not checked" in said
    assert "mysql:9.7" in printed.out and "NOT AVAILABLE" not in printed.out


@pytest.mark.usefixtures("no_client")
def test_the_data_of_a_plan_says_whether_an_engine_was_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan.command("mysql@9.7", json=True)
    assert json.loads(capsys.readouterr().out)["engine_asked"] is False


@pytest.mark.usefixtures("no_client")
def test_the_doctor_reports_a_missing_client(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.command() == ExitCode.ENVIRONMENT
    assert capsys.readouterr().out.startswith("engine     missing")


def test_a_sql_imports_no_library_of_models_and_templates() -> None:
    """They take longer than everything else that a `sql` does before its statement is under way."""
    imports = "import sys, sandbox.cli.main, sandbox.cli.commands.sql"
    script = f"{imports}; print(*{{*sys.modules}} & {{'pydantic', 'jinja2', 'yaml'}})"
    argv = [sys.executable, "-c", script]
    done = subprocess.run(argv, cwd=ROOT / "scripts", capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

"""What looks at results and lists needs no engine, and what a `sql` imports costs little."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.cli import registry
from sandbox.cli.commands import compare, export, history, query, report
from sandbox.cli.commands import help as help_command
from sandbox.cli.commands import list as list_command
from sandbox.cli.common.find_result import find_result
from sandbox.stack import engine
from unit.cli.test_result_commands import a_result

ROOT = Path(__file__).resolve().parents[3]
LOOKS: dict[str, Callable[[Path], object]] = {
    "help": lambda _: help_command.command(),
    "list": lambda _: list_command.command(what="results"),
    "query": lambda results: query.run("select count(*) from runs", results=results),
    "history": lambda results: history.run(results=results),
    "compare": lambda results: compare.run(min(map(str, results.iterdir())), "latest", results=results),
    "export": lambda results: export.run("benchstat", results=results),
    "report": lambda results: report.write_report(find_result(None, results, "report")),
}


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
    monkeypatch.setattr(list_command, "RESULTS", results)
    return results


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_at_results_starts_no_engine(no_engine: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    LOOKS[name](no_engine)
    assert capsys.readouterr().out or list(no_engine.glob("*/report.html"))
    assert "\nENGINE = False\n" in (registry.COMMANDS / f"{name}.py").read_text(), "scripts/launch would install one"


def test_a_sql_imports_no_library_of_models_and_templates() -> None:
    """They take longer than everything else that a `sql` does before its statement is under way."""
    imports = "import sys, sandbox.cli.main, sandbox.cli.commands.sql"
    script = f"{imports}; print(*{{*sys.modules}} & {{'pydantic', 'jinja2', 'yaml'}})"
    argv = [sys.executable, "-c", script]
    done = subprocess.run(argv, cwd=ROOT / "scripts", capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

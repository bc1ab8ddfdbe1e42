"""Every workload file: found by itself, with help, documented options, a test of its own and a run on a real server."""

import ast
from pathlib import Path

import pytest

from contract.stacks import CHECKOUT
from sandbox.errors import ExitCode, SandboxError
from sandbox.workloads import in_client
from sandbox.workloads.common.python_load import PythonLoad
from sandbox.workloads.common.registry import find_workloads, workload_files

FILES = workload_files()
PROFILES = [CHECKOUT / "profiles" / "workloads"]
NAMED = find_workloads(PROFILES)
IN_CLIENT = sorted(Path(in_client.__file__).parent.glob("*.py"))
LOADS = sorted(name for name, kind in FILES.items() if issubclass(kind, PythonLoad))
INTEGRATION = "".join(path.read_text() for path in (CHECKOUT / "tests" / "integration").glob("test_*.py"))
PARAMETERS = frozenset({"tables", "rows_per_table", "distribution", "rate_per_s"})


def test_the_workloads_of_the_issue_are_there() -> None:
    assert {"noop", "sysbench", "tpcc", "ingest", "ddl", "connection_storm", "statements"} <= set(FILES)
    assert {"tpcc", "ingest", "ddl", "connection-storm", "oltp_read_write"} <= set(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_every_name_has_one_line_of_help_and_runs_on_a_real_server(name: str) -> None:
    named = NAMED[name]
    assert named.help and "\n" not in named.help
    assert named.workload.uses <= PARAMETERS
    assert name == "noop" or f'"{name}"' in INTEGRATION, "no integration test names it"


@pytest.mark.parametrize("name", LOADS)
def test_options_have_a_type_a_default_and_a_line_of_help(name: str) -> None:
    for option, field in FILES[name].model_fields.items():
        if not field.exclude:
            assert field.description and not field.is_required(), option


@pytest.mark.parametrize("name", NAMED)
def test_an_option_that_there_is_none_of_is_refused(name: str) -> None:
    with pytest.raises(SandboxError) as refused:
        NAMED[name].workload.with_options({"no_such_option": 1})
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3


@pytest.mark.parametrize("path", IN_CLIENT, ids=lambda path: path.stem)
def test_what_runs_in_the_client_node_needs_nothing_that_is_not_there(path: Path) -> None:
    """Of ours, its own folder; of others', PyMySQL; besides, what Python itself brings."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            assert not name.startswith("sandbox") or name.startswith("sandbox.workloads.in_client"), name
            assert name.partition(".")[0] not in {"pydantic", "yaml", "numpy", "scipy"}, name

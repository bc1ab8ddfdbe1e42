"""Every workload file: found by itself, with help, documented options, a test of its own and a run
on a real server.
"""

import pytest

from contract.stacks import CHECKOUT
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.load.common.registry import WORKLOAD_KINDS, find_workloads
from sandbox.load.common.sysbench_load import LuaLoad

FILES = WORKLOAD_KINDS.every()
PROFILES = [CHECKOUT / "profiles" / "workloads"]
NAMED = find_workloads(PROFILES)
LOADS = sorted(name for name, kind in FILES.items() if issubclass(kind, LuaLoad))
INTEGRATION = "".join(
    path.read_text() for path in (CHECKOUT / "tests" / "integration").glob("test_*.py")
)
PARAMETERS = frozenset({"tables", "rows_per_table", "distribution", "rate_per_s"})


def test_the_workloads_of_the_issue_are_there() -> None:
    expected = "noop sysbench tpcc ingest ddl connection-storm statements replica-catch-up"
    assert set(expected.split()) <= set(FILES)
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

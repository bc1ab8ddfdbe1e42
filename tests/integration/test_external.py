"""A server that somebody else runs, broken by its own words: another stack's server stands in for a
cloud database.
"""

from collections.abc import Iterator

import pytest

from integration.live import LiveStack, live_stack, run, sandbox
from sandbox.stack.naming import project_name

pytestmark = [pytest.mark.docker, pytest.mark.long]
PASSWORD = "TheirOwn0000000000000000"
ADDRESS = "mysql://owner@mysql1:3306/shop"
OWNER = (
    f"create database shop; create user owner@'%' identified by '{PASSWORD}'; "
    "grant all on *.* to owner@'%' with grant option"
)
READ_ONLY = (
    "statement='SET GLOBAL super_read_only = ON' heal_statement='SET GLOBAL read_only = OFF'"
)
"""Where read_only ends, super_read_only ends, too."""


@pytest.fixture(scope="module")
def theirs() -> Iterator[LiveStack]:
    """The server of somebody else."""
    with live_stack("mysql@9.7") as live:
        live.sql("mysql1", OWNER)
        yield live


@pytest.fixture(scope="module")
def stack(theirs: LiveStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveStack]:
    """The stack of that external server: its client reaches it in the other one's network, until it
    is removed.
    """
    path = tmp_path_factory.mktemp("external") / "password"
    path.write_text(f"{PASSWORD}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXTERNAL_PASSWORD_FILE", str(path))
        with live_stack("external", "--external", ADDRESS) as live:
            run(
                [
                    "docker",
                    "network",
                    "connect",
                    f"{project_name(theirs.name)}_stack",
                    live.container("client1"),
                ]
            )
            yield live


def rto_ms(stack: LiveStack, *words: str) -> float:
    """How long writes were out in a trial of a statement, which lost nothing."""
    record = stack.trial("--fault", "sql", *words)
    (step,) = record["trial"]["steps"]
    assert (step["fault"], step["nodes"]) == ("sql", ["external1"])
    ledger, verdicts = (
        record["trial"]["ledger"],
        {check["name"]: check["verdict"] for check in record["checks"]},
    )
    assert (
        ledger["acked"] > 500
        and ledger["lost"]["count"] == 0
        and list(ledger["rows"]) == ["external1"]
    )
    assert verdicts["lost"] == verdicts["phantom"] == verdicts["duplicate"] == "pass"
    return float(record["metrics"]["rto_ms"])


def test_a_trial_of_a_statement_and_its_opposite(stack: LiveStack, theirs: LiveStack) -> None:
    assert 4_500 < rto_ms(stack, "--seconds", "5", "--options", READ_ONLY) < 8_000
    assert theirs.sql("mysql1", "select @@super_read_only, @@read_only") == "0\t0"


def test_a_server_that_starts_again_is_waited_for(stack: LiveStack) -> None:
    assert (
        0
        < rto_ms(stack, "--seconds", "1", "--options", "statement=RESTART heal_statement='DO 1'")
        < 60_000
    )


def test_a_fault_stays_until_another_process_heals_it(stack: LiveStack, theirs: LiveStack) -> None:
    done = sandbox("fault", "--name", stack.name, "--fault", "sql", "--options", READ_ONLY)
    assert done.stdout.startswith("sql on external1: in effect after ")
    assert theirs.sql("mysql1", "select @@super_read_only") == "1"
    assert "broken on purpose: sql on external1" in sandbox("ps", "--name", stack.name).stdout
    assert "healed sql on external1" in sandbox("heal", "--name", stack.name).stdout
    assert theirs.sql("mysql1", "select @@super_read_only, @@read_only") == "0\t0"
    assert "broken on purpose" not in sandbox("ps", "--name", stack.name).stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--fault", "server-crash"], "the fault server-crash cannot hit external1"),
        (
            ["--fault", "sql", "--options", "statement='SET GLOBAL no_such_variable = 1'"],
            "external1 refuses",
        ),
        (
            ["--fault", "sql", "--options", READ_ONLY, "--target", "one-reader"],
            "the stack has no target 'one-reader'",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing_broken(
    stack: LiveStack, words: list[str], what: str
) -> None:
    done = sandbox("fault", "--name", stack.name, *words, check=False)
    assert (
        done.returncode in (2, 4)
        and len(done.stderr.strip().splitlines()) == 3
        and what in done.stderr
    )
    assert "broken on purpose" not in sandbox("ps", "--name", stack.name).stdout

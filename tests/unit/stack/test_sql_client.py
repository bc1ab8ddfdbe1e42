"""The SQL client: who runs statements where, how they reach it byte by byte, what certainly only
reads.
"""

import os
import sys

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.plan import UserFile
from sandbox.stack.protocol import Note
from sandbox.stack.sql_client import SqlOptions, only_reads, run_init, sql, sql_on_all
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, running_stack
from unit.stack.test_access import Terminal


@pytest.fixture
def docker() -> FakeDocker:
    """An engine whose servers all write."""
    fake = FakeDocker()
    fake.on("sh /sandbox/probe role", answer("writer\n"))
    return fake


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(False))
    monkeypatch.delenv("MYSQL_PWD", raising=False)


def notes(events: Events) -> list[str]:
    """What was said."""
    return [each.text for each in events if isinstance(each, Note)]


def test_sql_takes_the_terminal(docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(True))
    monkeypatch.setattr(sys, "stdout", Terminal(True))
    sql(running_stack(docker, "mysql+replica1"), "replica1", events := Events())
    command = docker.calls[-1]
    assert command[:2] == ("exec", "-it")
    assert command[3:-1] == (
        "mysql",
        "--defaults-file=/sandbox/root.cnf",
        "-h",
        "replica1",
        "-P",
        "3306",
    )
    assert command[-1] == "--binary-as-hex", "raw bytes are no text for a terminal"
    assert notes(events) == ["replica1 of the stack 'default' (replica1:3306), as root"]


def test_sql_reads_its_input_and_prints_as_it_comes(docker: FakeDocker) -> None:
    sql(running_stack(docker, "mysql+replica1"), "replica1", events := Events())
    assert docker.calls[-1][:2] == ("exec", "-i") and docker.fed[-1] is None
    assert {"--unbuffered", "--quick", "--batch"} <= {
        *docker.calls[-1]
    } and "--table" not in docker.calls[-1]
    assert notes(events) == [], "root is what one expects on a server"


def test_the_only_server_is_meant_whatever_its_role(docker: FakeDocker) -> None:
    docker.on("sh /sandbox/probe role", answer("reader\n"))
    assert sql(running_stack(docker, "mysql"), None, Events()) == 0
    assert "mysql1" in docker.calls[-1] and not [call for call in docker.calls if "role" in call], (
        "that takes a while"
    )


def test_the_client_starts_while_the_servers_are_asked_for_their_roles(docker: FakeDocker) -> None:
    docker.on("replica1 sh /sandbox/probe role", answer("reader\n"))
    stack = running_stack(docker, "mysql+replica1")
    assert sql(stack, "reader", Events(), os.fsdecode(b"select '\xff'")) == 0
    begun = next(place for place, call in enumerate(docker.calls) if call[:2] == ("exec", "-i"))
    asked = next(place for place, call in enumerate(docker.calls) if call[-1] == "role")
    assert begun < asked and docker.fed == [b"replica1\nselect '\xff'\n"]


def test_a_client_that_is_led_nowhere_runs_nothing(docker: FakeDocker) -> None:
    docker.on("sh /sandbox/probe role", answer("stale: writable\n"))
    with pytest.raises(SandboxError, match="no server is a writer now"):
        sql(running_stack(docker, "mysql+replica1"), None, Events(), "drop table t")
    assert docker.fed == []


def test_sql_through_a_proxy_is_the_applications_user_and_says_so(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+balancer")
    sql(stack, None, events := Events())
    assert (
        "--defaults-file=/sandbox/app.cnf" in docker.calls[-1] and "balancer1" in docker.calls[-1]
    )
    assert notes(events) == ["as sbtest, through balancer1 (as root: make sql NODE=mysql1)"]
    sql(stack, None, events := Events(), options=SqlOptions(user="root"))
    assert "--defaults-file=/sandbox/root.cnf" in docker.calls[-1] and notes(events) == []


def test_another_account_brings_its_password_in_the_clients_own_variable(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = running_stack(docker, "mysql")
    sql(stack, None, Events(), options=SqlOptions(user="alice"))
    assert "--no-defaults" in docker.calls[-1] and "--user=alice" in docker.calls[-1]
    assert (
        "--default-character-set=utf8mb4" in docker.calls[-1]
        and "MYSQL_PWD" not in docker.calls[-1]
    )
    monkeypatch.setenv("MYSQL_PWD", "secret")
    sql(stack, None, Events(), options=SqlOptions(user="alice"))
    assert "MYSQL_PWD" in docker.calls[-1] and "secret" not in str(docker.calls[-1])


def test_statements_arrive_byte_by_byte(docker: FakeDocker) -> None:
    """A command line of the engine's would have � for what is no UTF-8."""
    sql(running_stack(docker, "mysql"), None, Events(), os.fsdecode(b"select '\xff'"))
    assert docker.fed[-1] == b"select '\xff'\n" and "--binary-mode" not in docker.calls[-1]


def test_what_the_client_would_drop_is_kept(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    sql(stack, None, Events(), "select 'a\r\nb'")
    assert "--binary-mode" in docker.calls[-1]
    sql(stack, None, Events(), options=SqlOptions(binary_mode=True))
    assert "--binary-mode" in docker.calls[-1]


@pytest.mark.parametrize(
    ("options", "given", "left_out"),
    [
        (SqlOptions(layout="table"), {"--table", "--binary-as-hex"}, {"--quick", "--batch"}),
        (SqlOptions(names=False, force=True), {"--skip-column-names", "--force"}, {"--vertical"}),
        (SqlOptions(vertical=True), {"--vertical"}, {"--table", "--batch"}),
        (SqlOptions(layout="json"), {"python3"}, {"mysql"}),
    ],
)
def test_options_are_the_clients_own(
    docker: FakeDocker, options: SqlOptions, given: set[str], left_out: set[str]
) -> None:
    sql(running_stack(docker, "mysql"), None, Events(), "select 1", options)
    assert given <= {*docker.calls[-1]} and not left_out & {*docker.calls[-1]}


def test_typed_rows_of_every_server_begin_with_its_name(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = running_stack(docker, "mysql+replica1")
    sql_on_all(stack, "select 1", SqlOptions(layout="csv"))
    assert ['"server": "replica1"' in call[-1] for call in docker.calls[-2:]] == [False, True]
    assert capsys.readouterr().out == ""
    sql_on_all(stack, "select 1")
    assert capsys.readouterr().out == "-- mysql1\n-- replica1\n"


def test_typed_rows_need_statements(docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(True))
    monkeypatch.setattr(sys, "stdout", Terminal(True))
    with pytest.raises(SandboxError, match="FORMAT=json needs statements"):
        sql(running_stack(docker, "mysql"), None, Events(), options=SqlOptions(layout="json"))


def test_sql_hands_on_the_clients_exit_code(docker: FakeDocker) -> None:
    docker.on("^exec -i ", answer(code=1))
    assert sql(running_stack(docker, "mysql"), None, Events()) == 1


@pytest.mark.parametrize(
    "statement",
    ["select 1", " SELECT version(), count(*) from t;\n", "show replica status", "desc mysql.user",
     "select hex(t) from sbtest.t where id in (1, 2)"],
)  # fmt: skip
def test_what_only_reads_is_known(statement: str) -> None:
    assert only_reads(statement)


@pytest.mark.parametrize(
    "statement",
    [
        None,
        "",
        "insert into t values (1)",
        "select 1; drop table t",
        "select 1 into outfile 'x'",
        "set global a = 1",
        "select group_replication_set_as_primary('x')",
        "select f(1)",
        "/*! drop table t */",
        "select 1 /*! into @a */",
        "explain analyze delete from t",
        "select 1\\! rm x",
        "with a as (select 1) select * from a",
    ],
)
def test_what_may_write_or_is_not_understood_does_not_only_read(statement: str | None) -> None:
    assert not only_reads(statement)


@pytest.mark.parametrize(
    ("content", "binary"), [(b"select 1", False), (b"select '\xff\r\n'", True), (b"\0", True)]
)
def test_a_first_file_is_run_byte_by_byte(docker: FakeDocker, content: bytes, binary: bool) -> None:
    file = UserFile("x.sql", content.decode("utf-8", "surrogateescape"), "0")
    run_init(running_stack(docker, "mysql"), file, Events())
    assert file.raw == content and docker.inputs[-1].encode("utf-8", "surrogateescape") == content
    client = next(call for call in docker.calls if "mysql" in call and "-h" in call)
    assert ("--binary-mode" in client) is binary

"""A running stack as the later layers ask it."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest

from sandbox.cli.common.viewing import stack_lines, view_now
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.answers import ready_question
from sandbox.stack.journal import Breakage, note_breakage
from sandbox.stack.protocol import ExecResult, ReadyAnswer, RunningStack
from sandbox.stack.stack import all_stacks, find_stack
from unit.stack.fake_docker import HANGS, FakeDocker, FakePending, answer
from unit.stack.small_stack import Events, running_stack


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine with nothing on it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return FakeDocker()


def test_it_fulfils_the_protocol(docker: FakeDocker) -> None:
    stack: RunningStack = running_stack(docker, "mysql+replica1")
    assert (stack.name, stack.profile) == ("default", "mysql+replica1")
    assert stack.engine().version == "26.1.5"


def test_nodes_carry_what_the_engine_knows_of_their_image(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    inspected = [{"Id": each.id, "Image": "sha256:1"} for each in stack.members]
    image = {
        "Id": "sha256:1",
        "RepoDigests": ["mysql@sha256:d"],
        "Config": {"Labels": {"sandbox.package-version": "9-1"}},
    }
    docker.on("^container inspect", answer(json.dumps(inspected)))
    docker.on("^image inspect", answer(json.dumps([image])))
    server, client = stack.nodes()
    assert (server.image_id, server.digest, server.package_version) == (
        "sha256:1",
        "sha256:d",
        "9-1",
    )
    assert (server.family, server.topology, server.port, server.is_server) == (
        "mysql",
        "single",
        3306,
        True,
    )
    assert (client.kind, client.port) == ("client", None)


def test_an_external_server_is_a_node_without_a_container(docker: FakeDocker) -> None:
    stack = running_stack(docker, "external", external="mysql://app@db.example/shop")
    external = next(node for node in stack.nodes() if node.kind == "external")
    assert (external.host, external.port, external.has_container) == ("db.example", 3306, False)


def test_roles_are_asked_and_never_assumed(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica2")
    docker.on("mysql1 sh /sandbox/probe role", answer("writer\n"))
    docker.on("replica1 sh /sandbox/probe role", answer("reader\n"))
    docker.on("replica2 sh /sandbox/probe role", answer(code=1, stderr="ERROR 2003"))
    assert stack.roles() == {"mysql1": "writer", "replica1": "reader", "replica2": None}


def test_a_server_that_stands_aside_has_its_reason_shown(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1")
    docker.on("mysql1 sh /sandbox/probe role", answer("detached: read-only and follows nobody\n"))
    docker.on("replica1 sh /sandbox/probe role", answer("reader, caught up\n"))
    docker.on("sh /sandbox/probe state", answer(""))
    shown = view_now(stack)
    roles = {node["name"]: node["role"] for node in shown["nodes"]}
    assert (roles["mysql1"], roles["replica1"]) == (None, "reader")
    assert [line.strip() for line in stack_lines(shown)[-2:]] == [
        "mysql1 is detached: read-only and follows nobody",
        "mysql1: make heal REPAIR=1 repairs it",
    ]
    data = {
        node["name"]: (node["server_state"], node["reason"], node["repair"])
        for node in shown["nodes"]
    }
    assert data["mysql1"] == ("detached", "read-only and follows nobody", "rejoin")
    assert data["replica1"] == ("running", None, None) and data["client1"] == (None, None, None)


ROW = "*************************** 1. row ***************************\n"
STOPPED = (
    f"{ROW}Source_Host: mysql1\nReplica_IO_Running: Yes\nReplica_SQL_Running: No\nLast_SQL_Errno:"
    " 1032\n"
)


def test_a_stopped_replica_is_called_so_with_its_error_and_what_repairs_it(
    docker: FakeDocker,
) -> None:
    stack = running_stack(docker, "mysql+replica1", name="a")
    docker.on(
        "replica1 sh /sandbox/probe state",
        answer(f"{STOPPED}Last_SQL_Error: Can't find record in 'c'\n"),
    )
    docker.on("replica1 sh /sandbox/probe ready", answer("receiver Yes, applier No\n", code=1))
    docker.on("replica1 sh /sandbox/probe role", answer("reader\n"))
    shown = view_now(stack)
    lines = [line.strip() for line in stack_lines(shown)]
    assert next(line for line in lines if line.startswith("replica1")).split()[:5] == [
        "replica1", "9.7.2", "running", "reader", "stopped",
    ]  # fmt: skip
    assert lines[-2:] == [
        "replica1 is stopped: applier, error 1032: Can't find record in 'c'",
        "replica1: make heal NAME=a REPAIR=1 repairs it",
    ]


def test_the_log_of_this_life_says_why_a_member_has_left(docker: FakeDocker) -> None:
    stack = running_stack(docker, "cluster3")
    docker.on("cluster2 sh /sandbox/probe state", answer("state\tERROR\n"))
    docker.on("^inspect --format .*StartedAt", answer("2026-11-29T02:14:09.1Z\n"))
    docker.on(
        "^logs ",
        answer(
            "Plugin group_replication reported: 'Member was expelled from the group due to x'\n"
        ),
    )
    state = stack.server_states()["cluster2"]
    assert state.text == "expelled: Member was expelled from the group due to x"
    (asked,) = docker.called("logs")
    assert asked[1:3] == ("--since", "2026-11-29T02:14:09.1Z")


def test_the_log_of_a_server_that_started_again_in_its_container_is_that_of_its_last_life(
    docker: FakeDocker,
) -> None:
    stack = running_stack(docker, "cluster3")
    docker.on("cluster2 sh /sandbox/probe state", answer("state\tOFFLINE\n"))
    docker.on(
        "^logs ",
        answer(
            "Worker 1 failed executing transaction 'a:7'; Error_code: 1032\n"
            "[System] [MY-010116] [Server] mysqld (mysqld 9.7.4) starting as process 77\n"
        ),
    )
    state = stack.server_states()["cluster2"]
    assert state.text == "OFFLINE: it is in no group"
    assert not state.has_cause


def test_a_server_that_its_proxy_reattaches_needs_no_repair(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1+balancer")
    docker.on("mysql1 sh /sandbox/probe role", answer("detached: follows nobody\n"))
    docker.on("sh /sandbox/probe state", answer(""))
    balancer = stack.container("balancer1")
    stack.members[stack.members.index(balancer)] = replace(
        balancer, about={**balancer.about, "rejoins": "auto_rejoin"}
    )
    state = stack.server_states()["mysql1"]
    assert (
        state.text
        == "detached: follows nobody; balancer1 makes it follow the writer again (auto_rejoin)"
    )
    assert not state.needs_repair


def test_a_stopped_server_is_not_asked(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1")
    docker.state("replica1", "exited")
    docker.on("sh /sandbox/probe role", answer("writer\n"))
    assert stack.refreshed().roles() == {"mysql1": "writer", "replica1": None}


def test_a_setting_is_proved_where_it_applies(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+cloning+balancer+fancy")
    docker.on("mysql1 sh /sandbox/probe proof-cloning", answer("1\n"))
    docker.on("client1 sh /sandbox/probe proof-fancy-balancer1", answer("plain\n"))
    proofs = {proof.setting: proof for proof in stack.prove_settings()}
    assert proofs["cloning"].in_effect
    assert not proofs["fancy"].in_effect
    assert (proofs["fancy"].node, proofs["fancy"].expected, proofs["fancy"].answer) == (
        "balancer1",
        "fancy",
        "plain",
    )


def test_a_proof_that_fails_says_why(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+cloning+balancer+fancy")
    docker.on(
        "mysql1 sh /sandbox/probe proof-cloning",
        answer(code=1, stderr="Traceback\nERROR 1045: Access denied\n"),
    )
    docker.on("client1 sh /sandbox/probe proof-fancy-balancer1", answer("fancy", code=1))
    proofs = {proof.setting: proof for proof in stack.prove_settings()}
    assert (proofs["cloning"].answer, proofs["fancy"].answer) == (
        "ERROR 1045: Access denied",
        "no answer",
    )
    assert not (proofs["cloning"].in_effect or proofs["fancy"].in_effect)
    docker.state("mysql1", "exited")
    assert {proof.setting: proof.answer for proof in stack.refreshed().prove_settings()}[
        "cloning"
    ] is None


def waited_for(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """How long each command that hangs was waited for, one after the other."""
    waits_s: list[float | None] = []
    original = FakePending.answer

    def answer(pending: FakePending, timeout_s: float | None = None) -> ExecResult:
        try:
            return original(pending, timeout_s)
        except TimeoutError:
            waits_s.append(timeout_s)
            raise

    monkeypatch.setattr(FakePending, "answer", answer)
    return waits_s


def test_proofs_that_hang_share_a_bound_of_their_own(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.stack.nodes.PROOF_LIMIT_S", 0.3)
    docker.on("sh /sandbox/probe proof-", HANGS)
    stack = running_stack(docker, "mysql+cloning+balancer+fancy")
    waits_s = waited_for(monkeypatch)
    assert {proof.answer for proof in stack.prove_settings()} == {"no answer within 0.3 s"}
    assert len(waits_s) == 2 and sum(wait_s or 60 for wait_s in waits_s) < 2 * 0.3


def test_where_a_node_is_asked_whether_it_is_ready(docker: FakeDocker) -> None:
    stack = running_stack(docker, "cluster3+router")
    client, server, router = stack.client, stack.container("cluster1"), stack.container("router1")
    assert ready_question(server, client) == (server, "ready")
    assert ready_question(router, client) is None
    stack = running_stack(docker, "mysql+balancer", name="b")
    assert ready_question(stack.container("balancer1"), client) == (client, "ready-balancer1")


def test_every_node_says_whether_it_is_ready(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica2+balancer")
    docker.on("checker1 sh /sandbox/probe ready", answer())
    docker.on("mysql1 sh /sandbox/probe ready", answer("WARNING: old\nwriter\n"))
    docker.on("replica1 sh /sandbox/probe ready", answer("reader, 5 s behind\n", code=1))
    docker.on(
        "client1 sh /sandbox/probe ready-balancer1", answer(code=1, stderr="first\nERROR 9001\n")
    )
    docker.state("replica2", "paused")
    answers = stack.refreshed().readiness()
    assert {
        node: each for node, each in answers.items() if node not in ("checker2", "checker3")
    } == {
        "mysql1": ReadyAnswer(True, "writer"),
        "replica1": ReadyAnswer(False, "reader, 5 s behind"),
        "replica2": ReadyAnswer(False, "paused"),
        "balancer1": ReadyAnswer(False, "ERROR 9001"),
        "checker1": ReadyAnswer(True, "yes"),
        "client1": ReadyAnswer(True, "ready yes"),
    }


def test_who_asks_again_asks_commands_that_stay_open(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = running_stack(docker, "mysql+replica2")
    replies = {
        ("mysql1", "ready"): answer("0 writer"),
        ("replica1", "ready"): answer("1 reader, 5 s behind"),
        ("replica1", "role"): answer("0 reader, 5 s behind"),
        ("replica2", "role"): answer("1 ERROR 2003"),
    }
    ended = [answer(code=137, stderr="it has ended")]
    asked: list[tuple[str, str]] = []

    def ask_session(node: str, _: object, line: str, __: float) -> ExecResult:
        asked.append((node, line))
        if node == "replica2" and line == "ready":
            if ended:
                return ended.pop()
            raise TimeoutError
        return replies.get((node, line), answer("0 "))

    monkeypatch.setattr(stack, "ask_session", ask_session)
    standing = stack.standing()
    assert standing.roles == {"mysql1": "writer", "replica1": "reader", "replica2": None}
    assert standing.ready == {
        "mysql1": ReadyAnswer(True, "writer"),
        "replica1": ReadyAnswer(False, "reader, 5 s behind"),
        "replica2": ReadyAnswer(False, "no answer within 10 s"),
        "client1": ReadyAnswer(True, "yes"),
    }
    assert asked.count(("replica2", "ready")) == 2, "its container may have been started again"
    assert asked.count(("replica1", "ready")) == 1
    assert ("mysql1", "role") not in asked, "it has said so already"


def test_the_command_that_stays_open_answers_each_question_in_a_line(tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    probe.write_text('echo first; cat; echo "$1 said" >&2; [ $1 = ready ]\n')
    text = (
        files("sandbox.stack")
        .joinpath("questions.sh")
        .read_text()
        .replace("/sandbox/probe", str(probe))
    )
    done = subprocess.run(
        ["sh", "-c", text], input="ready\nrole\n", capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n") == ["\x1e0 ready said", "\x1e1 role said", ""]


def test_a_node_without_a_question_is_ready_while_it_runs(docker: FakeDocker) -> None:
    stack = running_stack(docker, "cluster3+router")
    assert stack.readiness()["router1"] == ReadyAnswer(True, "runs")
    docker.state("router1", "exited")
    assert stack.refreshed().readiness()["router1"] == ReadyAnswer(False, "exited")


def test_a_node_that_says_nothing_is_not_ready(docker: FakeDocker) -> None:
    docker.on("mysql1 sh /sandbox/probe ready", answer(code=1))
    assert running_stack(docker, "mysql").readiness()["mysql1"] == ReadyAnswer(False, "no answer")


def test_nodes_that_hang_share_one_bound_and_do_not_hide_the_others(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.on("(mysql1|replica1) sh /sandbox/probe ready", HANGS)
    stack = running_stack(docker, "mysql+replica2")
    stack.patience_s = 0.3
    waits_s = waited_for(monkeypatch)
    answers = stack.readiness()
    assert len(waits_s) == 2 and sum(wait_s or 60 for wait_s in waits_s) < 2 * 0.3
    assert answers["mysql1"] == answers["replica1"] == ReadyAnswer(False, "no answer within 0.3 s")
    assert answers["replica2"].ready


@pytest.mark.parametrize("gone", [True, False])
def test_a_stack_without_its_client_is_shown_all_the_same(docker: FakeDocker, gone: bool) -> None:
    stack = running_stack(docker, "mysql+balancer")
    docker.on("mysql1 sh /sandbox/probe", answer("writer\n"))
    if gone:
        docker.containers.pop(stack.client.id)
    else:
        docker.state("client1", "exited")
    shown = view_now(stack.refreshed(), stack.refreshed().prove_settings())
    ready = {node["name"]: node["ready"] for node in shown["nodes"]}
    assert (ready["mysql1"], ready["balancer1"], ready.get("client1")) == (
        True,
        False,
        None if gone else False,
    )
    why = "  balancer1 is not ready: unknown: the client node, which would ask it, does not run"
    assert why in stack_lines(shown)


def test_what_is_not_ready_and_what_is_broken_on_purpose_is_a_line_each(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1", name="a")
    docker.on("mysql1 sh /sandbox/probe", answer("writer\n"))
    docker.on("mysql1 sh /sandbox/probe version", answer("9.7.5-log\n"))
    docker.on("replica1 sh /sandbox/probe version", answer(code=1, stderr="ERROR 2002"))
    docker.on("replica1 sh /sandbox/probe ready", answer("5 s behind\n", code=1))
    for node, began_utc_s in (("mysql1", 2.0), ("replica1", 1.0)):
        note_breakage(
            Breakage(project=stack.project, fault="loss", node=node, began_utc_s=began_utc_s)
        )
    shown = view_now(stack)
    assert [node["readiness"] for node in shown["nodes"]] == ["writer", "5 s behind", "ready yes"]
    title, head, *rows = [line.strip() for line in stack_lines(shown)]
    assert (title, head.split()[:3]) == ("a   mysql+replica1", ["node", "version", "container"])
    assert rows[0].split()[:5] == ["mysql1", "9.7.5", "running", "writer", "ready"]
    assert rows[1].split()[:3] == ["replica1", "9.7.2", "running"] and " not ready " in rows[1]
    assert [node["version"] for node in shown["nodes"]] == ["9.7.5-log", "9.7.2", "1"]
    assert rows[-3:] == [
        "replica1 is not ready: 5 s behind",
        "broken on purpose: loss on replica1; heal with make heal NAME=a",
        "broken on purpose: loss on mysql1; heal with make heal NAME=a",
    ]


def test_a_server_of_another_version_than_the_one_asked_for_is_shown_as_not_ready(
    docker: FakeDocker,
) -> None:
    stack = running_stack(docker, "mysql@8.4.11+replica@9.7")
    docker.on("sh /sandbox/probe", answer("writer\n"))
    docker.on("sh /sandbox/probe version", answer("8.4.7\n"))
    shown = view_now(stack)
    assert [node["ready"] for node in shown["nodes"]] == [False, True, True]
    assert (
        stack_lines(shown)[-1].strip()
        == "mysql1 is not ready: reports version 8.4.7, but 8.4.11 was requested"
    )


def test_a_record_that_cannot_be_read_is_no_obstacle_to_showing_a_stack(
    docker: FakeDocker, tmp_path: Path
) -> None:
    stack = running_stack(docker, "mysql")
    folder = tmp_path / "sandbox" / "faults" / stack.project
    folder.mkdir(parents=True)
    (folder / "0.json").write_text("{")
    assert view_now(stack)["aside"] == []


def test_what_the_kernel_lacks_is_tried_in_the_clients_image(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    docker.on(
        "^run", answer("netem no unknown\ntbf yes \niptables yes \nwrite-limit yes /cgroup/x\n")
    )
    assert stack.lacking() == stack.refreshed().lacking() == {"netem": "unknown"}
    (run,) = docker.called("run")
    assert stack.client.image in run and f"sandbox.stack={stack.project}" in run


def test_it_waits_until_every_node_is_ready_as_they_are_now(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1")
    docker.on("replica1 sh /sandbox/probe role", answer("reader\n"))
    stack.wait_until_ready(5)
    docker.state("replica1", "exited")
    with pytest.raises(SandboxError, match="replica1 is not running: exited") as late:
        stack.wait_until_ready(5)
    assert late.value.exit_code is ExitCode.ENVIRONMENT


def test_dead_nodes_say_how_they_ended(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1")
    docker.state("replica1", "exited")
    assert stack.dead_nodes() == {"replica1": "exited (1)"}


def test_it_says_when_each_container_started(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1")
    shown = [
        f"{stack.container(node).id} 2025-01-31T00:00:0{at}Z"
        for at, node in enumerate(("mysql1", "client1"))
    ]
    docker.on(
        "^inspect", answer("\n".join(shown), code=1, stderr="Error: No such object: replica1")
    )
    assert stack.starts() == {"mysql1": "2025-01-31T00:00:00Z", "client1": "2025-01-31T00:00:01Z"}


def test_an_unknown_node_is_refused_with_a_hint(docker: FakeDocker) -> None:
    with pytest.raises(SandboxError) as unknown:
        running_stack(docker, "mysql").run("mysql2", ["true"])
    assert unknown.value.exit_code == ExitCode.BAD_INPUT
    assert "did you mean 'mysql1'?" in unknown.value.known


def test_a_stack_that_is_gone_says_so(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    docker.containers.clear()
    with pytest.raises(SandboxError) as gone:
        stack.refreshed()
    assert gone.value.exit_code == ExitCode.ENVIRONMENT


def test_commands_streams_and_logs_go_to_the_nodes_container(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    docker.on("exec .*mysql1 hostname", answer("mysql1\n"))
    assert stack.run("mysql1", ["hostname"]).stdout == "mysql1\n"
    stream = stack.stream("mysql1", ["hostname"])
    assert list(stream.lines()) == ["mysql1"]
    assert stream.wait(1) == 0
    docker.on("^logs", answer("2026-01-01T00:00:00Z ready for connections\n"))
    assert "ready for connections" in stack.log("mysql1", datetime(2026, 1, 1, tzinfo=UTC))
    assert "--since" in docker.calls[-1]
    assert "2026-01-01T00:00:00.000000Z" in docker.calls[-1]


def test_its_passwords_are_read_back_from_the_client(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    docker.on("cat /sandbox/passwords", answer("one\ntwo\n"))
    assert stack.secrets() == {"one", "two"}


def test_all_stacks_are_found_by_label() -> None:
    docker = FakeDocker()
    running_stack(docker, "mysql", name="a")
    running_stack(docker, "mysql+replica1", name="b")
    assert {stack.name: stack.profile for stack in all_stacks(docker)} == {
        "a": "mysql",
        "b": "mysql+replica1",
    }
    assert find_stack("b", Events(), docker).profile == "mysql+replica1"

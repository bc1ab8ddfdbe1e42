"""What breaks and mends one node: the engine's commands, none of them repeated where all is as it
should be.
"""

import io
import json
import tarfile
from collections.abc import Callable

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.stack import control
from sandbox.stack.control import LIFE_S, Control, living
from sandbox.stack.engine import PatientDocker
from sandbox.stack.inventory import death
from sandbox.stack.protocol import ExecResult, Limits, NodeControl
from sandbox.stack.stack import Stack
from unit.stack.fake_docker import HANGS, FakeDocker, answer

NODE_STATE = r"^inspect --format {{json \.State}} "
BEGAN = "2026-01-31T10:00:00.5Z"


def in_state(docker: FakeDocker, **state: object) -> None:
    """What the engine says of the container from now on."""
    docker.on(
        NODE_STATE,
        answer(json.dumps({"Status": "running", "ExitCode": 0, "OOMKilled": False, **state})),
    )


def on_network(docker: FakeDocker, node: Control, address: str | None) -> None:
    """Puts the container on the stack's network, or takes it off."""
    networks = (
        {node._network: {"IPAddress": address}}
        if address is not None
        else {"bridge": {"IPAddress": "1.1.1.1"}}
    )
    docker.on("NetworkSettings", answer(json.dumps(networks)))


def last(docker: FakeDocker) -> str:
    """The last command."""
    return " ".join(docker.calls[-1])


def test_it_fulfils_the_protocol(stack: Stack) -> None:
    control: NodeControl = stack.control("mysql1")
    assert (control.name, control.kind) == ("mysql1", "database")
    with pytest.raises(SandboxError) as unknown:
        stack.control("mysql2")
    assert unknown.value.exit_code is ExitCode.BAD_INPUT


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({}, "running"),
        ({"Status": "paused"}, "paused"),
        ({"Status": "exited", "ExitCode": 137}, "exited (137)"),
        ({"Status": "exited", "ExitCode": 137, "OOMKilled": True}, "exited (137), out of memory"),
        ({"Status": "created", "Error": "no such image"}, "created: no such image"),
    ],
)
def test_its_state_is_in_words(
    docker: FakeDocker, node: Control, state: dict[str, object], text: str
) -> None:
    in_state(docker, **state)
    assert node.state() == text


@pytest.mark.parametrize(
    ("words", "act"),
    [
        ("kill", lambda node: node.signal("KILL")),
        ("start", lambda node: node.start()),
        ("update", lambda node: node.weigh(2)),
        ("inspect", lambda node: node.state()),
        ("stop", lambda node: node.stop(0.01)),
        ("info", lambda node: node.limit(Limits(None, 7))),
    ],
)
def test_an_engine_that_hangs_is_an_error_after_a_while(
    docker: FakeDocker,
    stack: Stack,
    words: str,
    act: Callable[[NodeControl], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PatientDocker.__init__, "__defaults__", (0.01,))
    monkeypatch.setattr(control, "ANSWER_LIMIT_S", 0.01)
    docker.on("HostConfig", answer(json.dumps({"NanoCpus": 1, "Memory": 7})))
    docker.on(f"^{words} ", HANGS)
    with pytest.raises(MachineError, match=f"docker {words} does not end") as late:
        act(stack.control("mysql1"))
    known = f"the engine did not answer within {0.02 if words == 'stop' else 0.01} s"
    assert late.value.lines()[1:] == [known, "try: make doctor"]


def test_a_script_has_its_own_limit(docker: FakeDocker, node: Control) -> None:
    docker.on("^exec ", HANGS)
    with pytest.raises(TimeoutError):
        node.execute("sleep 9", timeout_s=0.01)


def test_a_statement_goes_through_the_nodes_own_client_as_root(
    docker: FakeDocker, node: Control
) -> None:
    docker.on("^exec --user 0 .*--defaults-file=/sandbox/client.cnf -N -B -e 'DO 1'", answer("1\n"))
    assert node.ask("DO 1").stdout == "1\n"
    docker.on("^exec ", HANGS)
    with pytest.raises(TimeoutError):
        node.ask("DO SLEEP(9)", timeout_s=0.01)


@pytest.mark.parametrize("said", ["Error: No such object: x", "error: no such container: x"])
def test_a_container_that_is_gone_says_so(docker: FakeDocker, node: Control, said: str) -> None:
    docker.on("^inspect", answer(code=1, stderr=said))
    assert node.state() == "gone" and node.address() is None


def test_an_engine_that_does_not_answer_is_no_death(
    docker: FakeDocker, node: Control, stack: Stack
) -> None:
    said = (
        "dial unix /var/run/docker.sock: connect: no such file or directory. Is the docker daemon"
        " running?"
    )
    docker.on("^inspect", answer(code=1, stderr=said))
    for ask in (
        node.state,
        node.address,
        node.limits,
        lambda: death(docker, stack.container("mysql1")),
    ):
        with pytest.raises(SandboxError) as refused:
            ask()
        assert refused.value.exit_code is ExitCode.ENVIRONMENT
        assert refused.value.what == "the Docker engine does not answer"


@pytest.mark.parametrize(
    ("address", "found"), [("172.18.0.2", "172.18.0.2"), ("", None), (None, None)]
)
def test_its_address_is_that_in_the_stacks_network(
    docker: FakeDocker, node: Control, address: str | None, found: str | None
) -> None:
    on_network(docker, node, address)
    assert node.address() == found


@pytest.mark.parametrize(
    ("act", "command"),
    [
        (lambda node: node.signal("USR1"), "kill --signal USR1 ID"),
        (lambda node: node.pause(), "pause ID"),
        (lambda node: node.stop(60.0), "stop -t 60 ID"),
        (lambda node: node.disconnect(), "network disconnect --force NET ID"),
        (lambda node: node.connect(), "network connect --alias mysql1 NET ID"),
    ],
)
def test_it_is_one_command_and_a_refusal_is_an_error(
    docker: FakeDocker, node: Control, act: Callable[[Control], None], command: str
) -> None:
    in_state(docker)
    docker.on("^stop", answer())
    before = len(docker.calls)
    act(node)
    assert last(docker) == command.replace("ID", node._id).replace("NET", node._network)
    assert len(docker.calls) == before + 1, "what it breaks, it breaks at once"
    on_network(docker, node, None if "disconnect" not in command else "172.18.0.2")
    docker.on(
        f"^{command.split(' ')[0]}", answer(code=1, stderr="Error response from daemon: cannot")
    )
    with pytest.raises(SandboxError) as refused:
        act(node)
    assert refused.value.exit_code is ExitCode.ENVIRONMENT and "cannot" in refused.value.known


def test_what_is_so_already_is_no_refusal(docker: FakeDocker, node: Control) -> None:
    for command, said in (
        ("pause", "already paused"),
        ("network", "is not connected"),
        ("unpause", "is not paused"),
    ):
        docker.on(f"^{command}", answer(code=1, stderr=f"Error response from daemon: {said}"))
    in_state(docker, Status="paused")
    node.pause()
    on_network(docker, node, None)
    node.disconnect()
    on_network(docker, node, "172.18.0.2")
    node.connect()
    in_state(docker)
    node.unpause()
    assert not docker.called("unpause")


def test_a_container_that_does_not_freeze_at_once_is_paused_again(
    docker: FakeDocker, node: Control
) -> None:
    refused = answer(
        code=1,
        stderr="Error response from daemon: OCI runtime pause failed: unable to freeze: unknown",
    )
    in_state(docker)
    docker.on("^pause", refused)
    with pytest.raises(SandboxError) as failed:
        node.pause()
    assert "unable to freeze" in failed.value.known
    assert len(docker.called("pause")) == 3
    replies = iter((refused, answer()))
    docker.on("^pause", lambda _: next(replies))
    node.pause()


def test_a_paused_node_runs_again_before_it_is_started(docker: FakeDocker, node: Control) -> None:
    docker.state("mysql1", "paused")
    node.start()
    assert [call[0] for call in docker.calls if call[0] in ("unpause", "start")] == [
        "unpause",
        "start",
    ]
    node.start()
    assert last(docker) == f"start {node._id}"


def test_the_data_directory_is_emptied_with_the_volumes_of_a_container_that_has_ended(
    docker: FakeDocker, node: Control
) -> None:
    docker.state("mysql1", "exited")
    node.empty_data()
    run, copy = docker.calls[-2:]
    assert (run[:2], copy) == (("run", "--rm"), ("cp", "-", f"{node._id}:/"))
    assert (
        run[run.index("--volumes-from") + 1] == node._id
        and run[-1] == "find /var/lib/mysql -mindepth 1 -delete"
    )
    assert run[run.index("--network") + 1] == "none" and "sandbox.kind=helper" in run
    with tarfile.open(fileobj=io.BytesIO(docker.inputs[-1].encode())) as archive:
        (entry,) = archive.getmembers()
    assert (entry.name, entry.size) == ("sandbox/renew.sql", 0), "new data have the right passwords"


def test_a_data_directory_in_use_is_not_emptied(docker: FakeDocker, node: Control) -> None:
    with pytest.raises(SandboxError) as refused:
        node.empty_data()
    assert refused.value.known == "its container is running" and not docker.called("run")


def limited(docker: FakeDocker, cpus: float, memory: int) -> None:
    """The limits that the engine knows; 0: none."""
    docker.on("HostConfig", answer(json.dumps({"NanoCpus": round(cpus * 1e9), "Memory": memory})))


def test_its_limits_are_read(docker: FakeDocker, node: Control) -> None:
    limited(docker, 0.1, 1 << 30)
    assert node.limits() == Limits(0.1, 1 << 30)
    limited(docker, 0, 0)
    assert node.limits() == Limits()


@pytest.mark.parametrize(
    ("now", "then", "options"),
    [
        ((0, 0), Limits(0.1, None), "--cpus=0.1"),
        ((0.5, 1 << 30), Limits(0.5, 1 << 20), f"--memory={1 << 20} --memory-swap={1 << 20}"),
        (
            (0.1, 1 << 20),
            Limits(2, 1 << 30),
            f"--cpus=2 --memory={1 << 30} --memory-swap={1 << 30}",
        ),
        ((0.1, 1 << 20), Limits(), f"--cpus=4 --memory={16 << 30} --memory-swap=-1"),
    ],
)
def test_what_changes_is_set_and_a_limit_taken_back_is_all_that_there_is(
    docker: FakeDocker, node: Control, now: tuple[float, int], then: Limits, options: str
) -> None:
    limited(docker, *now)
    node.limit(then)
    assert last(docker) == f"update {options} {node._id}"


def test_its_weight_is_beside_that_of_an_ordinary_container(
    docker: FakeDocker, node: Control
) -> None:
    node.weigh(8)
    assert last(docker) == f"update --cpu-shares=8192 {node._id}"
    node.weigh(1)
    assert last(docker) == f"update --cpu-shares=1024 {node._id}"


def test_the_same_limits_are_not_set_again(docker: FakeDocker, node: Control) -> None:
    limited(docker, 0.5, 0)
    node.limit(Limits(0.5, None))
    assert not docker.called("update") and not docker.called("info")


def test_a_script_runs_as_root_in_the_container(docker: FakeDocker, node: Control) -> None:
    docker.on("^exec", answer("hello\n", code=3))
    assert node.execute("echo hello; exit 3") == ExecResult(3, "hello\n", "")
    assert docker.calls[-1] == ("exec", "--user", "0", node._id, "sh", "-c", "echo hello; exit 3")


class Helpers:
    """Keeps account of the helper in a node's network."""

    def __init__(self, docker: FakeDocker, node: Control) -> None:
        self.began: str | None = None
        self.node_began, self.next_began = BEGAN, "2026-01-31T10:00:01.123456789Z"
        self.node = node
        docker.on(r"^inspect --format {{\.State\.Running}}", self._inspect)
        docker.on("^run --detach", self._run)
        docker.on(f"^rm --force .*{node._in_network.name}", self._rm)

    def _inspect(self, _: tuple[str, ...]) -> ExecResult:
        lines = f"true {self.node_began}\n" + (f"true {self.began}\n" if self.began else "")
        return answer(
            lines, code=0 if self.began else 1, stderr="" if self.began else "No such object"
        )

    def _run(self, _: tuple[str, ...]) -> ExecResult:
        if self.began:
            return answer(code=125, stderr="Conflict. The container name is already in use")
        self.began = self.next_began
        return answer("id\n")

    def _rm(self, _: tuple[str, ...]) -> ExecResult:
        there, self.began = self.began, None
        return answer() if there else answer(code=1, stderr="Error: No such container: x")


def test_one_helper_runs_every_script_in_the_network(docker: FakeDocker, node: Control) -> None:
    helpers = Helpers(docker, node)
    docker.on("^exec", answer("rules\n"))
    assert (
        node.in_network("iptables -S").stdout == node.in_network("iptables -S").stdout == "rules\n"
    )
    (run,) = docker.called("run")
    assert f"container:{node._id}" in run and run[run.index("--cap-drop") + 1] == "ALL"
    assert [run[place + 1] for place, word in enumerate(run) if word == "--cap-add"] == [
        "NET_ADMIN"
    ]
    assert f"sandbox.stack={node._identity.project}" in run and "sandbox.kind=helper" in run
    assert docker.calls[-1] == (
        "exec",
        node._in_network.name,
        "bash",
        "-c",
        "kill -s USR1 1; iptables -S",
    )
    assert living(LIFE_S) in run and "--rm" in run
    node.release()
    node.release()
    assert helpers.began is None


def test_a_helper_beside_the_disk_has_the_volume_of_the_data_directory(
    docker: FakeDocker, node: Control
) -> None:
    mounts = [
        {"Type": "bind", "Source": "/etc", "Destination": "/etc/mysql"},
        {"Type": "volume", "Name": "a_mysql1-data", "Destination": "/var/lib/mysql"},
    ]
    docker.on(r"^inspect --format {{json \.Mounts}}", answer(json.dumps(mounts)))
    docker.on(r"^inspect --format {{\.State\.Running}}", answer(code=1, stderr="No such object"))
    node.beside_disk("true")
    (run,) = docker.called("run")
    assert run[run.index("--mount") + 1] == "type=volume,source=a_mysql1-data,target=/data"
    rights = [run[place + 1] for place, word in enumerate(run) if word == "--cap-add"]
    assert (
        rights == ["NET_ADMIN", "SYS_ADMIN", "DAC_READ_SEARCH"] and f"container:{node._id}" in run
    )
    node.release()
    assert node._beside_disk.name in docker.calls[-1] and node._in_network.name in docker.calls[-1]


def test_there_is_no_helper_beside_a_disk_that_is_not_there(
    docker: FakeDocker, node: Control
) -> None:
    docker.on(r"^inspect --format {{json \.Mounts}}", answer("[]"))
    docker.on(r"^inspect --format {{\.State\.Running}}", answer(code=1, stderr="No such object"))
    with pytest.raises(SandboxError, match="mysql1 has no volume for its data directory"):
        node.beside_disk("true")
    assert not docker.called("run")


def test_a_helper_that_stays_beside_one_that_is_gone_is_an_error(
    docker: FakeDocker, node: Control
) -> None:
    docker.on(
        "^rm",
        answer(
            code=1, stderr="Error: No such container: a\nError response from daemon: driver failed"
        ),
    )
    with pytest.raises(SandboxError, match="docker rm failed"):
        node.release()


def test_a_helper_in_the_network_of_an_earlier_start_is_replaced(
    docker: FakeDocker, node: Control
) -> None:
    helpers = Helpers(docker, node)
    node.in_network("true")
    helpers.node_began = "2026-01-31T10:00:02Z"
    helpers.next_began = "2026-01-31T10:00:03Z"
    node.in_network("true")
    assert len(docker.called("run")) == 2
    node.in_network("true")
    assert len(docker.called("run")) == 2


def test_another_command_that_starts_the_helper_first_is_no_problem(
    docker: FakeDocker, node: Control
) -> None:
    helpers = Helpers(docker, node)

    def late(_: tuple[str, ...]) -> ExecResult:
        helpers.began = "2026-01-31T10:00:05Z"
        return answer(code=125, stderr="Conflict. The container name is already in use")

    docker.on("^run --detach", late)
    assert node.in_network("true").code == 0


def test_a_helper_that_does_not_start_is_an_error(docker: FakeDocker, node: Control) -> None:
    Helpers(docker, node)
    docker.on("^run", answer(code=125, stderr="cannot join network of a non running container"))
    with pytest.raises(SandboxError) as refused:
        node.in_network("true")
    assert "non running" in refused.value.known and refused.value.exit_code is ExitCode.ENVIRONMENT


def test_a_helper_that_stays_is_an_error(docker: FakeDocker, node: Control) -> None:
    docker.on(
        "^rm",
        answer(
            code=1,
            stderr="Error response from daemon: removal of container x is already in progress",
        ),
    )
    node.release()
    docker.on("^rm", answer(code=1, stderr="Error response from daemon: driver failed"))
    with pytest.raises(SandboxError, match="docker rm failed"):
        node.release()


def test_a_node_can_be_mended_without_the_client_but_for_its_network(
    docker: FakeDocker, stack: Stack
) -> None:
    node = Stack([each for each in stack.containers if each.kind != "client"], docker).control(
        "mysql1"
    )
    assert isinstance(node, Control)
    Helpers(docker, node)
    docker.state("mysql1", "paused")
    node.unpause()
    assert docker.called("unpause")
    with pytest.raises(SandboxError, match="no node 'client1'"):
        node.in_network("true")

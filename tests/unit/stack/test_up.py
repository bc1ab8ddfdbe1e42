"""up: made once, found again, refused for another plan, undone on Ctrl-C; passwords only on
standard input.
"""

from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.images import Availability
from sandbox.profile.plan import Plan, UserFile
from sandbox.stack.inventory import inventory
from sandbox.stack.journal import Breakage, breakages, note_breakage
from sandbox.stack.locks import mark_changed, unchanged
from sandbox.stack.naming import project_name
from sandbox.stack.protocol import ExecResult, NodeEvent, Note
from sandbox.stack.stack import Stack
from sandbox.stack.up import UpOptions, up
from unit.profile.small_library import plan as small_plan
from unit.profile.test_variables import HELP
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, local_plan

PROFILE = "mysql+replica1"
INIT = UserFile("shop.sql", "create database shop;", "abc")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine with nothing on it; locks of the test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = FakeDocker()
    fake.on("sh /sandbox/probe role", answer("writer\n"))
    return fake


def bring_up(
    docker: FakeDocker, plan: Plan | None = None, publish: bool = False
) -> tuple[Stack, Events]:
    """The stack, and what was shown."""
    events = Events()
    return (
        up(plan or local_plan(PROFILE), UpOptions("a", publish=publish), events, docker).stack,
        events,
    )


def interrupting(_: tuple[str, ...]) -> ExecResult:
    """Ctrl-C while a command runs."""
    raise KeyboardInterrupt


def test_it_starts_every_node_and_waits_for_it(docker: FakeDocker) -> None:
    stack, events = bring_up(docker)
    assert [each.node for each in stack.members] == ["mysql1", "replica1", "client1"]
    ready = {each.node for each in events if isinstance(each, NodeEvent) and each.state == "ready"}
    assert ready == {"mysql1", "replica1", "client1"}


def test_passwords_go_by_standard_input_alone(docker: FakeDocker) -> None:
    bring_up(docker)
    file, *archives = docker.inputs
    assert len(archives) == 3
    lines = [
        line.strip() for archive in archives for line in archive.replace("\0", "").splitlines()
    ]
    (password,) = {line.split("=")[1] for line in lines if line.startswith("password=")}
    assert password not in file
    assert len(password) == 24
    assert not [word for call in docker.calls for word in call if password in word]
    labels = [value for each in docker.containers.values() for value in each["labels"].values()]
    assert not [value for value in labels if password in value]
    assert not list(Path(file[:0] or ".").glob("*.stack.yaml"))


def test_compose_neither_builds_nor_pulls(docker: FakeDocker) -> None:
    bring_up(docker)
    (compose,) = docker.called("compose")
    assert {"--no-start", "--no-build", "--pull", "never", "-f", "-"} <= set(compose)


def test_a_mistyped_variable_is_refused_once_its_image_is_there_and_before_a_server_starts(
    docker: FakeDocker,
) -> None:
    there = Availability(local=frozenset({"sandbox/client:1-bookworm"}), registry=lambda: True)
    plan = small_plan("mysql", there, assignments=("max_conections=5",))
    docker.on("^image inspect", answer("sha256:" + "c" * 64))
    docker.on("^run ", answer(HELP))
    with pytest.raises(SandboxError, match="has no variable 'max_conections'") as refused:
        bring_up(docker, plan)
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert not docker.called("compose") and not docker.containers


def test_a_new_stack_is_unchanged_whatever_was_done_to_an_earlier_one_of_its_name(
    docker: FakeDocker,
) -> None:
    mark_changed(project_name("a"))
    stack, _ = bring_up(docker)
    with unchanged(stack.project) as still:
        assert still


def test_a_new_stack_has_none_of_the_faults_of_one_that_was_removed_by_hand(
    docker: FakeDocker,
) -> None:
    stack, _ = bring_up(docker)
    note_breakage(Breakage(project=stack.project, fault="hang", node="mysql1"))
    bring_up(docker)
    assert breakages(stack.project), "it is the same stack"
    docker.containers.clear()
    docker.networks.clear()
    docker.volumes.clear()
    bring_up(docker)
    assert not breakages(stack.project)


def test_the_same_profile_again_changes_nothing(docker: FakeDocker) -> None:
    first, _ = bring_up(docker)
    again, events = bring_up(docker)
    assert [each.id for each in again.containers] == [each.id for each in first.containers]
    assert len(docker.called("compose")) == 1
    assert Note("the stack 'a' exists") in events


def test_what_stopped_is_started(docker: FakeDocker) -> None:
    bring_up(docker)
    docker.state("replica1", "exited")
    docker.state("client1", "paused")
    stack, events = bring_up(docker)
    assert all(each.running for each in stack.members)
    assert Note("the stack 'a' exists; starting replica1, client1") in events


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (local_plan("mysql"), "the requested profile is mysql"),
        (
            local_plan(PROFILE, assignments=("max_connections=7",)),
            "SET was not given, now max_connections=7",
        ),
        (local_plan(PROFILE, memory="1g"), "MEMORY was not given, now 1g"),
        (local_plan(PROFILE, disk="ext4:4g"), "DISK was not given, now ext4:4g"),
        (local_plan(PROFILE, init=INIT), "INIT was not given, now abc"),
    ],
)
def test_another_plan_under_the_same_name_is_refused(
    docker: FakeDocker, other: Plan, word: str
) -> None:
    before, _ = bring_up(docker)
    with pytest.raises(SandboxError) as refused:
        bring_up(docker, other)
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert word in refused.value.known
    assert "make down NAME=a" in refused.value.next_step
    assert len(before.refreshed().containers) == 3


def test_leftovers_of_a_crash_never_meet_new_passwords(docker: FakeDocker) -> None:
    labels = {"sandbox.stack": project_name("a"), "sandbox.checkout": "x", "sandbox.plan": "old"}
    docker.volumes["old-data"] = labels
    _, events = bring_up(docker)
    assert "old-data" not in docker.volumes
    assert Note("removing the leftovers of an interrupted start") in events


def test_containers_that_never_ran_are_made_anew(docker: FakeDocker) -> None:
    bring_up(docker)
    for container in docker.containers.values():
        container["state"] = "created"
    docker.containers.popitem()
    bring_up(docker)
    assert len(docker.called("compose")) == 2


def test_a_stack_that_lost_a_node_is_not_silently_made_anew(docker: FakeDocker) -> None:
    bring_up(docker)
    del docker.containers[f"id-{project_name('a')}-replica1"]
    with pytest.raises(SandboxError) as torn:
        bring_up(docker)
    assert torn.value.exit_code == ExitCode.ENVIRONMENT
    assert "replica1 missing" in torn.value.what


def test_a_start_that_the_engine_refuses_leaves_nothing(docker: FakeDocker) -> None:
    docker.on(
        "^compose",
        answer(code=1, stderr="failed to create network: no available non-overlapping IPv4 pool"),
    )
    docker.networks["half"] = {"sandbox.stack": project_name("a"), "sandbox.checkout": "x"}
    with pytest.raises(SandboxError) as refused:
        bring_up(docker)
    assert refused.value.exit_code == ExitCode.ENVIRONMENT
    assert "make clean" in refused.value.next_step
    assert inventory(docker).empty


def test_ctrl_c_removes_what_was_started(docker: FakeDocker) -> None:
    docker.on("exec .*mysql1 ", interrupting)
    docker.on("^events", interrupting)
    with pytest.raises(SandboxError) as interrupted:
        bring_up(docker)
    assert interrupted.value.exit_code == ExitCode.INTERRUPTED
    assert "has been removed" in interrupted.value.known
    assert inventory(docker).empty


def test_ctrl_c_leaves_a_stack_alone_that_was_there_before(docker: FakeDocker) -> None:
    bring_up(docker)
    docker.on("^events", interrupting)
    with pytest.raises(SandboxError) as interrupted:
        bring_up(docker)
    assert interrupted.value.known == "the stack is unchanged"
    assert len(docker.containers) == 3


def test_a_second_ctrl_c_says_who_removes_the_rest(docker: FakeDocker) -> None:
    docker.on("^events", interrupting)
    docker.on("^rm ", interrupting)
    with pytest.raises(SandboxError) as interrupted:
        bring_up(docker)
    assert interrupted.value.exit_code == ExitCode.INTERRUPTED
    assert "make down NAME=a" in interrupted.value.next_step


def test_a_machine_without_the_memory_starts_nothing(docker: FakeDocker) -> None:
    docker.on(
        "^info", answer('{"MemTotal": 104857600, "DockerRootDir": "/nowhere", "Name": "elsewhere"}')
    )
    with pytest.raises(SandboxError) as short:
        bring_up(docker)
    assert short.value.exit_code == ExitCode.ENVIRONMENT
    assert "100 MiB are free" in short.value.what
    assert not docker.containers


def test_init_runs_once_on_the_writer(docker: FakeDocker) -> None:
    marks: list[str] = []

    def mark(argv: tuple[str, ...]) -> ExecResult:
        if ">" in argv[-1].replace("2>", ""):
            marks.append(argv[-1].split()[1])
            return answer()
        return answer(marks[-1] if marks else "")

    docker.on("/sandbox/init", mark)
    for _ in range(2):
        bring_up(docker, local_plan(PROFILE, init=INIT))
    assert marks == ["begun", "done"]
    assert docker.inputs[-1] == INIT.content
    (ran,) = [call for call in docker.called("exec", "-i") if "-h" in call]
    assert ran[ran.index("-h") + 1] == "mysql1"


def test_an_init_that_was_cut_short_is_not_run_twice(docker: FakeDocker) -> None:
    docker.on("/sandbox/init", answer("begun\n"))
    with pytest.raises(SandboxError) as twice:
        bring_up(docker, local_plan(PROFILE, init=INIT))
    assert twice.value.exit_code == ExitCode.ENVIRONMENT


def test_an_init_that_the_server_refuses_fails(docker: FakeDocker) -> None:
    docker.on("exec -i", answer(code=1, stderr="ERROR 1064 at line 3"))
    with pytest.raises(SandboxError) as wrong:
        bring_up(docker, local_plan(PROFILE, init=INIT))
    assert wrong.value.exit_code == ExitCode.FAILED
    assert wrong.value.known == "ERROR 1064 at line 3"

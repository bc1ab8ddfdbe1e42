"""fault, heal and the list of faults as a user types them, on a stack of a fake engine."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.cli.commands import fault as fault_command
from sandbox.cli.commands import ps
from sandbox.cli.common import running
from sandbox.cli.main import main
from sandbox.core.errors import ExitCode
from sandbox.failure import fault
from sandbox.failure.action import ACTION_KINDS
from sandbox.stack import ask_states
from sandbox.stack.journal import Breakage, breakages, note_breakage
from sandbox.stack.naming import project_name
from sandbox.stack.protocol import ExecResult
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import running_stack

Printed = pytest.CaptureFixture[str]
HELPERS_REMOVED = ["rm network"] * 3  # of the source, the replica and the client
FAULTS = (
    ("bandwidth", "mbit_per_s"),
    ("by-hand", ""),
    ("server-crash", ""),
    ("isolated-writer", ""),
)


class Engine(FakeDocker):
    """An engine that pauses, too."""

    def _pause(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return self._become("paused", argv)

    def done(self) -> list[str]:
        """What was done to nodes, in order."""
        acts = ("pause", "unpause", "start", "stop", "kill", "run", "rm", "network", "update")
        return [
            f"{call[0]} {call[-1].rpartition('-')[2]}" for call in self.calls if call[0] in acts
        ]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine of every command, whose servers all write; nobody waits for what does not come."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DEBUG", raising=False)
    made = Engine()
    made.on("sh /sandbox/probe role", answer("writer\n"))
    for module in (running, ps):
        monkeypatch.setattr(module, "Docker", lambda: made)
    monkeypatch.setattr(fault.soon, "__defaults__", (0.0,))
    return made


@pytest.fixture
def project(docker: Engine) -> str:
    """A source and its replica, up."""
    return running_stack(docker, "mysql+replica1").project


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> Any:
    """Runs a command line: its exit code, what it printed, and the lines of its error output."""

    def run(*words: str) -> tuple[int, str, list[str]]:
        monkeypatch.setattr(sys, "argv", ["sandbox", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(str(ended.value.code)), printed.out, printed.err.splitlines()

    return run


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is broken is given up soon, whether it names a cause or not."""
    for bound in ("LEFT_S", "WITHOUT_CAUSE_S", "_ASK_EVERY_S"):
        monkeypatch.setattr(ask_states, bound, 0.1)


def broken(project: str) -> list[str]:
    """What is written down."""
    return [each.text for each in breakages(project)]


def test_a_fault_stays_until_it_is_healed(docker: Engine, project: str, typed: Any) -> None:
    code, out, err = typed("fault", "--fault", "hang", "--target", "mysql1")
    first, second = out.splitlines()
    assert code == ExitCode.OK and not err
    assert first.startswith("hang on mysql1: in effect after ") and first.endswith(" ms")
    assert second == "state  make ps      heal  make heal"
    assert broken(project) == ["hang on mysql1"] and docker.done() == ["pause mysql1"]
    code, out, err = typed("ps")
    assert re.search(r"mysql1 +\S+ +paused +frozen", out)
    assert "broken on purpose: hang on mysql1; heal with make heal" in out
    docker.calls.clear()
    code, out, err = typed("heal")
    assert (code, out) == (ExitCode.OK, "healed hang on mysql1; every node is ready\n")
    assert err[0] == "heal  healed hang on mysql1" and any(
        "replica1" in line and "ready" in line for line in err
    )
    assert docker.done() == ["unpause mysql1", "update client1", *HELPERS_REMOVED] and not broken(
        project
    )
    assert "broken on purpose" not in typed("ps")[1] and "is not ready" not in typed("ps")[1]


def test_an_external_server_is_broken_and_another_process_mends_it(
    docker: Engine, typed: Any
) -> None:
    project = running_stack(docker, "external", external="mysql://app@db.example/shop").project
    options = "statement='SET GLOBAL read_only = ON' heal_statement='SET GLOBAL read_only = OFF'"
    code, out, err = typed("fault", "--fault", "sql", "--options", options)
    assert (code, err) == (ExitCode.OK, []) and out.startswith("sql on external1: in effect after ")
    assert docker.inputs[-1] == "SET GLOBAL read_only = ON" and broken(project) == [
        "sql on external1"
    ]
    assert "broken on purpose: sql on external1; heal with make heal" in typed("ps")[1]
    code, out, _ = typed("heal")
    assert (code, out) == (ExitCode.OK, "healed sql on external1; every node is ready\n")
    assert docker.inputs[-1] == "SET GLOBAL read_only = OFF" and not broken(project)


def test_what_needs_a_container_of_an_external_server_is_refused(
    docker: Engine, typed: Any
) -> None:
    project = running_stack(docker, "external", external="mysql://app@db.example/shop").project
    code, _, err = typed("fault", "--fault", "server-crash")
    assert (code, broken(project)) == (ExitCode.BAD_INPUT, [])
    assert err == [
        "the fault server-crash cannot hit external1",
        "it has no container here; faults that need none: by-hand, none, sql",
        "try: make trial FAULT=by-hand",
    ]


def test_both_have_a_form_for_programs(docker: Engine, project: str, typed: Any) -> None:
    words = (
        "fault",
        "--fault",
        "hang",
        "--target",
        "replica1",
        "--options",
        "what=container",
        "--json",
    )
    code, out, _ = typed(*words)
    shown = json.loads(out)
    assert code == ExitCode.OK and shown.pop("ms") >= 0
    assert shown == {"fault": "hang", "options": {"what": "container"}, "nodes": ["replica1"]}
    stack = json.loads(typed("ps", "--json")[1])["stacks"][0]
    state = {node["name"]: (node["ready"], node["readiness"]) for node in stack["nodes"]}
    assert state["replica1"] == (False, "paused") and state["mysql1"][0] is True
    assert {node["name"]: node["server_state"] for node in stack["nodes"]}["replica1"] == "frozen"
    assert stack["aside"] == ["broken on purpose: hang on replica1; heal with make heal"]
    code, out, _ = typed("heal", "--json")
    assert code == ExitCode.OK
    assert json.loads(out) == {
        "healed": [{"fault": "hang", "node": "replica1"}],
        "repaired": [],
        "ready": True,
    }


def test_the_nodes_are_chosen_as_the_stack_is_now(
    docker: Engine, project: str, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def chosen(stack: Any, *words: Any, answer_s: float) -> list[str]:
        asked.append(words)
        return ["mysql1", "replica1"]

    monkeypatch.setattr(fault_command, "chosen_nodes", chosen)
    assert typed("fault", "--fault", "hang")[1].startswith("hang on mysql1, replica1: ")
    assert asked == [("writer", None, 1)] and sorted(broken(project)) == [
        "hang on mysql1",
        "hang on replica1",
    ]
    typed("fault", "--fault", "unplug", "--target", "minority", "--via", "mysql1", "--seed", "7")
    assert asked[1] == ("minority", "mysql1", 7)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "no FAULT was given"),
        (("--fault", "hnag"), "there is no fault 'hnag'"),
        (("--fault", "hang", "--options", "what"), "OPTIONS: 'what' sets nothing"),
        (("--fault", "hang", "--options", "what=all"), "what=all is not valid for the fault hang"),
        (("--fault", "hang", "--target", "mysql7"), "there is no target 'mysql7'"),
        (("--fault", "hang", "--target", "client1"), "client1 cannot be a target"),
        (
            ("--fault", "server-crash", "--target", "balancer1"),
            "the fault server-crash cannot hit balancer1",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_three_lines_and_nothing_breaks(
    docker: Engine, typed: Any, words: tuple[str, ...], what: str
) -> None:
    project = running_stack(docker, "mysql+balancer").project
    code, out, err = typed("fault", *words)
    assert (code, out, len(err), err[0]) == (ExitCode.BAD_INPUT, "", 3, what)
    assert err[2].startswith("try: make ")
    assert not broken(project) and not [
        each for each in docker.done() if not each.startswith("rm ")
    ]


def test_the_same_fault_twice_is_refused_until_it_is_healed(
    docker: Engine, project: str, typed: Any
) -> None:
    typed("fault", "--fault", "hang", "--target", "mysql1")
    docker.calls.clear()
    code, _, err = typed("fault", "--fault", "hang", "--target", "mysql1")
    assert code == ExitCode.BAD_INPUT
    assert err == [
        "hang is already active on mysql1", "one of the two would end the other", "try: make heal",
    ]  # fmt: skip
    assert not docker.done() and broken(project) == ["hang on mysql1"]
    assert typed("fault", "--fault", "hang", "--target", "replica1")[0] == ExitCode.OK


def test_what_the_kernel_cannot_do_is_skipped_with_the_reason(
    docker: Engine, project: str, typed: Any
) -> None:
    docker.on(
        "^run ",
        answer("netem no Error: Specified qdisc kind is unknown.\ntbf yes \niptables yes \n"),
    )
    code, _, err = typed("fault", "--fault", "delay", "--target", "mysql1")
    assert code == ExitCode.UNKNOWN
    assert err == [
        "the fault delay is skipped: the engine's kernel has no netem",
        "Error: Specified qdisc kind is unknown.",
        "try: make doctor",
    ]
    assert not broken(project) and not docker.called("exec", f"{project}-mysql1-network")


def test_a_fault_without_effect_is_an_error_and_can_be_undone(
    docker: Engine, project: str, typed: Any
) -> None:
    docker.on("^pause", answer())
    code, out, err = typed("fault", "--fault", "hang", "--target", "mysql1")
    assert (code, out) == (ExitCode.ENVIRONMENT, "")
    assert err == [
        "hang is not in effect",
        "mysql1: its container is running",
        "try: make heal (undoes the attempt)",
    ]
    assert broken(project) == ["hang on mysql1"]
    assert typed("heal")[0] == ExitCode.OK and not broken(project)


def test_a_fault_that_the_engine_refuses_is_healed_at_once(
    docker: Engine, project: str, typed: Any
) -> None:
    docker.on("^pause .*replica1", answer(code=1, stderr="Error response from daemon: freezer"))
    docker.on("^pause .*mysql1", lambda argv: docker._become("paused", argv))
    chosen = ("fault", "--fault", "hang", "--target")
    code, _, err = typed(*chosen, "replica1")
    assert (
        code == ExitCode.ENVIRONMENT
        and err[1] == "Error response from daemon: freezer"
        and len(err) == 3
    )
    assert not broken(project)


def interrupt(_: tuple[str, ...]) -> ExecResult:
    """Ctrl-C while a command runs."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("fault", "during", "then"),
    [
        ("hang", "^pause", ["pause mysql1", "unpause mysql1"]),
        ("hang", r"^inspect .*json .State}}", ["pause mysql1", "unpause mysql1"]),
        ("host-loss", "^exec .*network bash -c kill -s USR1 1; iptables -w -S >", ["rm network"]),
    ],
)
def test_ctrl_c_leaves_nothing_broken(
    docker: Engine, project: str, typed: Any, fault: str, during: str, then: list[str]
) -> None:
    times: list[int] = []

    def once(argv: tuple[str, ...]) -> ExecResult:
        docker.replies.remove(reply)
        times.append(1)
        if argv[0] == "pause":
            docker._become("paused", argv)
        raise KeyboardInterrupt

    docker.on("^run ", answer("netem yes \ntbf yes \niptables yes \nwrite-limit yes \n"))
    reply = (during, once)
    docker.replies.insert(0, reply)
    code, out, err = typed("fault", "--fault", fault, "--target", "mysql1")
    assert times and (code, out) == (ExitCode.INTERRUPTED, "")
    assert err == ["interrupted", "what was broken is healed", "try: make ps"]
    assert docker.done()[-len(then) :] == then and not broken(project)
    assert {each["state"] for each in docker.containers.values()} == {"running"}


def test_where_nothing_is_broken_it_says_so_and_waits_all_the_same(
    docker: Engine, project: str, typed: Any
) -> None:
    docker.state("replica1", "exited")
    code, out, err = typed("heal")
    assert (code, out) == (ExitCode.OK, "nothing was broken on purpose; every node is ready\n")
    assert docker.done() == ["update client1", "start replica1", *HELPERS_REMOVED]
    assert any("mysql1" in line for line in err)
    assert json.loads(typed("heal", "--json")[1]) == {"healed": [], "repaired": [], "ready": True}


def test_a_stack_that_does_not_become_ready_is_an_error_of_the_environment(
    docker: Engine, project: str, typed: Any
) -> None:
    typed("fault", "--fault", "hang", "--target", "mysql1")
    docker.on("exec .*replica1 ", answer("OCI runtime exec failed: no sh\n", code=126))
    code, out, err = typed("heal", "--timeout", "5")
    assert (code, out) == (ExitCode.ENVIRONMENT, "") and not broken(project)
    assert "heal  healed hang on mysql1" in err and err[-3].startswith(
        "replica1 does not answer whether it is ready"
    )


@pytest.mark.parametrize("stays", [True, False])
def test_a_server_that_dies_of_its_fault_just_after_the_heal_is_started_again_once(
    docker: Engine, project: str, typed: Any, stays: bool
) -> None:
    def dies(_: tuple[str, ...]) -> ExecResult:
        if stays and docker.called("restart"):
            return answer("ready writer\n")
        docker.state("mysql1", "exited")
        return answer("Error response from daemon: container is not running\n", code=1)

    docker.on("exec .*mysql1 .*ready.sh ready", dies)
    code, out, err = typed("heal")
    assert [call[-1].rpartition("-")[2] for call in docker.called("restart")] == ["mysql1"]
    assert "heal  mysql1 has ended: restarting it" in err
    assert (code, bool(out)) == ((ExitCode.OK, True) if stays else (ExitCode.ENVIRONMENT, False))


@pytest.mark.parametrize("returns", [True, False])
def test_a_member_that_has_left_its_cluster_for_good_is_restarted_once(
    docker: Engine, typed: Any, short_waits: None, returns: bool
) -> None:
    project = running_stack(docker, "cluster3").project

    def has_left(_: tuple[str, ...]) -> ExecResult:
        is_back = returns and docker.called("restart")
        return answer("ready 1\n") if is_back else answer("waiting left\n", code=75)

    docker.on("exec .*cluster2 ", has_left)
    docker.on("exec .*cluster2 sh /sandbox/probe ready", answer("left\n", code=1))
    docker.on("exec .*cluster2 sh /sandbox/probe state", answer("state\tOFFLINE\n"))
    typed("fault", "--fault", "hang", "--target", "cluster2")
    code, out, err = typed("heal")
    assert [call[-1].rpartition("-")[2] for call in docker.called("restart")] == ["cluster2"]
    assert "heal  cluster2 is OFFLINE: it is in no group: restarting it" in err
    assert not broken(project)
    if returns:
        assert (code, out) == (ExitCode.OK, "healed hang on cluster2; every node is ready\n")
    else:
        assert (code, out, err[-1]) == (
            ExitCode.ENVIRONMENT,
            "",
            (
                "try: make heal REPAIR=1 (make ps shows every server's state, make logs"
                " NODE=cluster2 why)"
            ),
        )


def test_what_does_not_come_back_by_itself_is_named_and_repaired_on_request(
    docker: Engine, typed: Any, short_waits: None
) -> None:
    running_stack(docker, "cluster3")
    online = ",".join(f"cluster{number} ONLINE SECONDARY" for number in (1, 2, 3))

    def on_state(back: str, away: str, code: int = 0) -> Callable[[tuple[str, ...]], ExecResult]:
        return lambda _: answer(back) if docker.called("start") else answer(away, code=code)

    docker.on("exec .*cluster2 ", on_state("ready 1\n", "waiting 0,0,0\n", 75))
    docker.on("exec .*cluster2 sh /sandbox/probe ready", on_state("1\n", "0,0,0\n", 1))
    docker.on(
        "exec .*cluster2 sh /sandbox/probe state",
        on_state(f"state\tONLINE\nmembers\t{online}\n", "state\tOFFLINE\n"),
    )
    code, out, err = typed("heal")
    assert (code, out) == (ExitCode.ENVIRONMENT, "") and not docker.called("stop")
    assert err[-3:] == [
        "cluster2 is OFFLINE: it is in no group",
        "it does not come back by itself",
        "try: make heal REPAIR=1 (make ps shows every server's state, make logs NODE=cluster2 why)",
    ]
    code, out, err = typed("heal", "--repair")
    assert (code, out) == (
        ExitCode.OK,
        "repaired: cluster2 was OFFLINE: restarted; every node is ready\n",
    )
    assert "heal  cluster2 is OFFLINE: it is in no group: restarting it" in err


def test_what_cannot_be_healed_is_named_when_all_else_is(
    docker: Engine, project: str, typed: Any, tmp_path: Path
) -> None:
    typed("fault", "--fault", "hang", "--target", "mysql1")
    note_breakage(Breakage(project=project, fault="of-a-later-version", node="replica1"))
    (tmp_path / "sandbox" / "faults" / project / "x.json").write_text("{")
    code, out, err = typed("heal")
    assert (code, out) == (ExitCode.ENVIRONMENT, "")
    first, what, known, step = err
    assert first == "heal  healed hang on mysql1"
    assert what == "not healed: of-a-later-version on replica1, 1 file that cannot be read"
    assert (
        "there is no fault 'of-a-later-version'" in known
        and "x.json: the file: Invalid JSON" in known
    )
    assert step == "try: make heal (again; make down removes the stack with what is broken)"
    assert broken(project) == ["of-a-later-version on replica1"]


@pytest.mark.parametrize("name", [None, "gone"])
def test_what_was_broken_in_a_stack_that_is_gone_is_forgotten(
    docker: Engine, typed: Any, name: str | None
) -> None:
    words = ["--name", name] if name else []
    for _ in range(2):
        note_breakage(
            Breakage(project=project_name(name or "default"), fault="hang", node="mysql1")
        )
    code, out, err = typed("heal", *words)
    assert (code, err) == (ExitCode.OK, [])
    assert out == f"the stack '{name or 'default'}' is gone, and with it what was broken\n"
    code, out, err = typed("heal", *words)
    assert (code, out, len(err)) == (ExitCode.BAD_INPUT, "", 3)
    assert err[0] == f"there is no stack '{name or 'default'}'"
    note_breakage(Breakage(project=project_name(name or "default"), fault="hang", node="mysql1"))
    assert json.loads(typed("heal", *words, "--json")[1]) == {
        "healed": [],
        "repaired": [],
        "ready": False,
    }


def test_commands_name_the_stack_that_they_mean(docker: Engine, typed: Any) -> None:
    running_stack(docker, "mysql", name="a")
    running_stack(docker, "mysql", name="b")
    out = typed("fault", "--name", "b", "--fault", "hang", "--target", "mysql1")[1]
    assert out.splitlines()[1] == "state  make ps NAME=b      heal  make heal NAME=b"
    assert typed("ps")[1].count("make heal NAME=b") == 1
    # Of one that is gone.
    note_breakage(Breakage(project=project_name("default"), fault="hang", node="mysql1"))
    code, _, err = typed("heal")
    assert (code, err[0]) == (ExitCode.BAD_INPUT, "which stack is meant?")
    assert typed("heal", "--name", "b")[0] == ExitCode.OK


def test_ps_shows_a_stack_whose_client_is_gone(docker: Engine, project: str, typed: Any) -> None:
    docker.containers.pop(next(key for key in docker.containers if key.endswith("client1")))
    for words in (("ps",), ("ps", "--json")):
        code, out, err = typed(*words)
        assert (code, err) == (ExitCode.OK, []) and "replica1" in out


def test_faults_and_their_profiles_are_listed(typed: Any) -> None:
    code, out, _ = typed("list", "faults")
    assert code == ExitCode.OK and all(len(line) <= 100 for line in out.splitlines())
    rows = {row["fault"]: row for row in json.loads(typed("list", "faults", "--json")[1])["faults"]}
    for name, option in FAULTS:
        assert rows[name]["help"] and name in out
        assert option in (rows[name]["options"] or []) if option else not rows[name]["options"]
    assert rows["by-hand"]["options"] == [] and rows["isolated-writer"]["options"] is None
    assert len(rows) == len(json.loads(typed("list", "faults", "--json")[1])["faults"]), (
        "no name twice"
    )


def test_actions_are_listed(typed: Any) -> None:
    rows = {
        row["action"]: row for row in json.loads(typed("list", "actions", "--json")[1])["actions"]
    }
    assert set(rows) == set(ACTION_KINDS.names()) and all(row["help"] for row in rows.values())
    assert rows["promote"]["options"] == ["after_s"]


def test_an_interrupted_heal_keeps_what_it_has_not_healed(
    docker: Engine, project: str, typed: Any
) -> None:
    for node in ("mysql1", "replica1"):
        typed("fault", "--fault", "hang", "--target", node)
    docker.on("^unpause .*mysql1", interrupt)
    code, _, err = typed("heal")
    assert code == ExitCode.INTERRUPTED
    assert err[-3:] == [
        "interrupted",
        "what is not healed yet stays written down",
        "try: make heal",
    ]
    assert broken(project) == ["hang on mysql1"]

"""The process that injects faults for a trial: it answers, and heals whatever ends it or the
trial.
"""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import CHECKOUT
from sandbox.failure import guard
from sandbox.failure.fault import FaultRequest, Injection
from sandbox.failure.guard import Guard, serve
from unit.failure.guard_rig import NOT_HEALED, OUTLASTED, FakeBreaker, FoundStack
from unit.fake_stack import FakeStack

REQUEST = FaultRequest("hang", {"what": "server"}, ["mysql1"])
SCRIPT = """\
import sys
sys.path[:0] = [{scripts!r}, {tests!r}]
from sandbox.failure import guard
from unit.failure.guard_rig import FakeBreaker, FoundStack
guard.containers = lambda *_: ()
guard.Stack = FoundStack
guard.Breaker = lambda stack, is_able: FakeBreaker({log!r})
guard.main(sys.argv[1])
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What the breaker was asked."""
    path = tmp_path / "log"
    path.touch()
    return path


@pytest.fixture
def argv(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The guard with a breaker that breaks nothing."""
    script = tmp_path / "guard.py"
    scripts, tests = str(CHECKOUT / "scripts"), str(CHECKOUT / "tests")
    script.write_text(SCRIPT.format(scripts=scripts, tests=tests, log=str(log)))
    monkeypatch.setattr(guard, "_ARGV", (sys.executable, "-P", str(script)))
    return (sys.executable, "-P", str(script), "project")


@pytest.fixture
def started(argv: tuple[str, ...]) -> Iterator[Guard]:
    """A guard of the stack `b`."""
    made = Guard(FakeStack(name="b"))
    yield made
    made._process.kill()
    made._process.wait()


def test_it_answers_as_the_breaker_does_and_heals_when_it_is_closed(
    started: Guard, log: Path
) -> None:
    assert os.getsid(started._process.pid) == started._process.pid, (
        "Ctrl-C in the terminal does not reach it"
    )
    started.prepare("a", REQUEST)
    assert started.inject("a") == Injection(1, 2, {"mysql1": "it runs"})
    assert started.heal("a") == 3
    with pytest.raises(SandboxError) as refused:
        started.prepare("refused", REQUEST)
    assert refused.value.lines() == ["no such target", "known: writer", "try: make ps"]
    assert refused.value.exit_code is ExitCode.UNKNOWN
    started.close()
    started.close()
    asked = [
        "prepare a hang server mysql1",
        "inject a",
        "heal a",
        "prepare refused hang server mysql1",
    ]
    assert log.read_text().splitlines() == [*asked, "close", "closed"]
    assert started._process.returncode == 0


def test_what_it_cannot_heal_is_the_trials_error(started: Guard) -> None:
    started.heal("stays")
    with pytest.raises(SandboxError) as stays:
        started.close()
    assert (
        stays.value.lines() == NOT_HEALED.lines() and stays.value.exit_code is ExitCode.ENVIRONMENT
    )
    started.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_heals_and_ends_it(started: Guard, log: Path, number: signal.Signals) -> None:
    started.inject("a")
    started._process.send_signal(number)
    started._process.wait(10)
    assert log.read_text().splitlines() == ["inject a", "close", "closed"]
    with pytest.raises(SandboxError) as ended:
        started.heal("a")
    assert ended.value.what == "the process that injects and heals faults has ended"
    assert ended.value.known == "exit code 0"
    assert ended.value.next_step.startswith("try: make heal NAME=b ")
    assert ended.value.exit_code is ExitCode.ENVIRONMENT
    started.close()  # it has said that all is healed


def test_a_second_signal_does_not_leave_an_injection_that_is_under_way(
    started: Guard, log: Path
) -> None:
    assert started._process.stdin
    started._process.stdin.write(json.dumps({"do": "inject", "key": "outlasts"}) + "\n")
    started._process.stdin.flush()
    for number in OUTLASTED:
        while str(number.value) not in log.read_text().splitlines():
            time.sleep(0.01)
        started._process.send_signal(number)
        Path(f"{log}.sent-{number.value}").touch()
    started._process.wait(60)
    assert log.read_text().splitlines() == [
        "inject outlasts",
        "15",
        "1",
        "2",
        "injected",
        "close",
        "closed",
    ]


def test_one_that_is_killed_says_nothing_and_make_heal_mends(started: Guard, log: Path) -> None:
    for act in (lambda: started.inject("vanishes"), lambda: started.inject("again"), started.close):
        with pytest.raises(SandboxError, match="has ended") as ended:
            act()
        assert (
            ended.value.known == f"exit code {-signal.SIGKILL}"
            and "make heal" in ended.value.next_step
        )
    assert log.read_text().splitlines() == ["inject vanishes"]


def test_a_bug_ends_it_after_it_has_healed(started: Guard, log: Path) -> None:
    with pytest.raises(SandboxError) as ended:
        started.inject("bug")
    assert ended.value.known == "exit code 1"
    assert log.read_text().splitlines() == ["inject bug", "close", "closed"]
    started.close()


def test_one_that_heals_for_too_long_is_ended(
    started: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    started.heal("hangs")
    monkeypatch.setattr(guard, "PATIENCE_S", 0.1)
    with pytest.raises(SandboxError, match="has ended"):
        started.close()


def test_a_fault_that_may_take_long_is_waited_for(
    started: Guard, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "PATIENCE_S", -1.0)
    started.prepare("1", FaultRequest("graceful", {"grace_s": 11}, ["mysql1"]))
    started.close()
    assert log.read_text().splitlines()[-1] == "closed"


def test_what_is_prepared_is_not_prepared_again(started: Guard, log: Path) -> None:
    for node in ("mysql1", "mysql1", "replica1"):
        started.prepare("1", FaultRequest("hang", {}, [node]))
    started.close()
    assert log.read_text().splitlines()[:3] == [
        "prepare 1 hang - mysql1",
        "prepare 1 hang - replica1",
        "close",
    ]


def test_an_interrupted_question_does_not_confuse_the_end(
    started: Guard, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started._process.stdin and started._process.stdout
    started._process.stdin.write(json.dumps({"do": "inject", "key": "slow"}) + "\n")
    started._process.stdin.flush()  # Ctrl-C comes before the answer does
    started.close()
    assert log.read_text().splitlines() == ["inject slow", "close", "closed"]


def test_it_heals_when_the_trial_is_killed_in_the_middle_of_an_injection(
    argv: tuple[str, ...], log: Path
) -> None:
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write(json.dumps({"do": "inject", "key": "slow"}) + "\n")
    process.stdin.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(10) == 0
    assert log.read_text().splitlines() == ["inject slow", "close", "closed"]


@pytest.mark.parametrize(
    ("request_", "lacks", "code"),
    [
        (FaultRequest("hnag", {}, ["mysql1"]), {}, ExitCode.BAD_INPUT),
        (FaultRequest("hang", {"what": "all"}, ["mysql1"]), {}, ExitCode.BAD_INPUT),
        (FaultRequest("delay", {}, ["mysql1"]), {"netem": "Error: unknown"}, ExitCode.UNKNOWN),
    ],
)
def test_what_cannot_be_is_refused_by_the_trial_itself(
    request_: FaultRequest, lacks: dict[str, str], code: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_ARGV", ("false",))
    started = Guard(FakeStack(lacks=lacks))
    monkeypatch.setattr(started, "_ask", lambda _: pytest.fail("it was asked"))
    with pytest.raises(SandboxError) as refused:
        started.prepare("a", request_)
    assert refused.value.exit_code is code
    with pytest.raises(SandboxError, match="has ended"):
        started.close()


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (
            {
                "do": "prepare",
                "key": "a",
                "request": {"fault": "hang", "options": {"what": "x"}, "nodes": []},
            },
            {"answer": None},
        ),
        (
            {"do": "inject", "key": "a"},
            {"answer": {"began_ns": 1, "ended_ns": 2, "missing": {"mysql1": "it runs"}}},
        ),
        ({"do": "heal", "key": "a"}, {"answer": 3}),
        (
            {
                "do": "prepare",
                "key": "refused",
                "request": {"fault": "hang", "options": {"what": "x"}, "nodes": []},
            },
            {"error": ["no such target", "known: writer", "try: make ps", 3]},
        ),
    ],
)
def test_each_line_has_an_answer(log: Path, asked: dict[str, Any], answer: dict[str, Any]) -> None:
    assert json.loads(json.dumps(serve(FakeBreaker(str(log)), json.dumps(asked)))) == answer


def test_the_end_of_its_input_heals_all_and_says_what_it_could_not(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaker, found = FakeBreaker(str(log)), FoundStack()
    for name, value in {
        "containers": lambda *_: (),
        "Stack": lambda *_: found,
        "Breaker": lambda *_, **__: breaker,
    }.items():
        monkeypatch.setattr(guard, name, value)
    before = {number: signal.getsignal(number) for number in guard._ENDINGS}
    prepare = json.dumps({"do": "prepare", "key": "a", "request": asdict(REQUEST)})
    lines = [prepare, '{"do": "inject", "key": "a"}', '{"do": "heal", "key": "stays"}']
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    try:
        guard.main("project")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [next(iter(each)) for each in said] == ["answer", "answer", "answer", "closed"]
    assert found.looks == 1, "before a fault is prepared: an upgraded node has another container"
    assert said[-1] == {"closed": [*NOT_HEALED.lines(), 4]}
    assert found.weighed == ["weigh client1 1"], (
        "a trial that is killed leaves it with the precedence of its prober"
    )


def test_a_client_that_cannot_be_weighed_is_no_end_of_the_guard() -> None:
    found = FoundStack()
    for _ in range(2):
        guard._weigh_as_all(found)  # type: ignore[arg-type]
    assert found.weighed == ["weigh client1 1"]

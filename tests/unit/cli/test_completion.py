"""What a shell proposes: by the tool's own completion, as bash asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.cli.common import completion
from sandbox.cli.main import main
from sandbox.core.paths import CHECKOUT
from sandbox.stack import stack as stacks
from unit.stack.fake_docker import FakeDocker
from unit.stack.small_stack import running_stack


def asked(tmp_path: Path, *words: str) -> dict[str, str]:
    """The environment in which bash asks for the last word, on a machine without Docker."""
    return {
        "PATH": str(tmp_path),
        "_SANDBOX_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("sandbox", *words)),
        "COMP_CWORD": str(len(words)),
    }


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("li",), {"list"}),
        (("up", "galera3+hap"), {"galera3+haproxy"}),
        (("plan", "mysql+dura"), {"mysql+durable"}),
        (("matrix", "qui"), {"quick"}),
        (("bench", "--workload", "tp"), {"tpcc"}),
        (("list", "mat"), {"matrices"}),
        (("list", "act"), {"actions"}),
        (("fault", "--fault", "ha"), {"hang"}),
        (("trial", "--fault", "ha"), {"hang"}),
        (("trial", "--fault", "prom"), {"promotion"}),
        (("report", "lat"), {"latest"}),
        (("up", "--pub"), {"--publish"}),
        (("logs", "--name", ""), set()),
    ],
)
def test_a_shell_gets_what_can_be_typed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    some: set[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sandbox"])
    for name, value in asked(tmp_path, *words).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    found = set(printed.out.split())
    assert ended.value.code == 0 and not printed.err
    assert some <= found and all(each.startswith(words[-1]) for each in found)


def test_the_program_itself_answers_a_shell(tmp_path: Path) -> None:
    home = {"HOME": os.environ.get("HOME", str(tmp_path)), "PYTHONPATH": str(CHECKOUT / "scripts")}
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.cli"],
        cwd=tmp_path,
        env={**home, **asked(tmp_path, "up", "galera3+hap")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["galera3+haproxy"], "")


def test_a_trial_takes_faults_actions_and_profiles_but_make_fault_takes_faults() -> None:
    assert "isolated-writer" in completion.trial_fault("iso") and completion.fault("iso") == []
    assert "switchover" in completion.trial_fault("switch") and completion.fault("switch") == []


def test_entry_points_are_those_of_running_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        stacks, "all_stacks", lambda _: [running_stack(FakeDocker(), "cluster3+balancer")]
    )
    assert completion.entry("m") == ["members"] and completion.entry("balancer1:") == [
        "balancer1:ro"
    ]
    assert {"writer", "cluster2"} <= {*completion.entry("")}


def test_stacks_and_nodes_are_those_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    class Known:
        node, project, checkout = "galera1", "sandbox-by-hand", "/x"

    monkeypatch.setattr(completion, "_containers", lambda: [Known()])
    assert completion.node("gal") == ["galera1"] and completion.node("pxc") == []
    assert completion.stack("") == ["sandbox-by-hand"]

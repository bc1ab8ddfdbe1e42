"""What a shell proposes: by the tool's own completion, as bash asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.commands.common import completion
from sandbox.places import CHECKOUT


def proposals(tmp_path: Path, *words: str) -> set[str]:
    """The words proposed for the last one, on a machine without Docker."""
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.cli"],
        cwd=tmp_path,
        env={
            "PATH": str(tmp_path),
            "HOME": os.environ.get("HOME", str(tmp_path)),
            "PYTHONPATH": str(CHECKOUT / "scripts"),
            "_SANDBOX_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("sandbox", *words)),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("li",), {"list"}),
        (("up", "galera3+hap"), {"galera3+haproxy"}),
        (("plan", "mysql+dura"), {"mysql+durable"}),
        (("matrix", "qui"), {"quick"}),
        (("bench", "--workload", "tp"), {"tpcc"}),
        (("list", "mat"), {"matrices"}),
        (("report", "lat"), {"latest"}),
        (("up", "--pub"), {"--publish"}),
        (("logs", "--name", ""), set()),
    ],
)
def test_a_shell_gets_what_can_be_typed(tmp_path: Path, words: tuple[str, ...], some: set[str]) -> None:
    found = proposals(tmp_path, *words)
    assert some <= found and all(each.startswith(words[-1]) for each in found)


def test_stacks_and_nodes_are_those_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    class Known:
        node, project, checkout = "galera1", "sandbox-by-hand", "/x"

    monkeypatch.setattr(completion, "_containers", lambda: [Known()])
    assert completion.node("gal") == ["galera1"] and completion.node("pxc") == []
    assert completion.stack("") == ["sandbox-by-hand"]

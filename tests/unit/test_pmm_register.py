"""A PMM client registers its database however late its agent answers."""

import os
import subprocess
from pathlib import Path

import pytest

from sandbox.core.paths import CHECKOUT

FAKES = {
    "pmm-admin": (
        'echo asked >>"$STATE"; [ "$(grep -c asked "$STATE")" -gt "$LATE" ] || exit 1; echo "{}"'
    ),
    "jq": "echo '{}'",
    "curl": (
        """cat >/dev/null; echo sent >>"$STATE"
        [ "$(grep -c sent "$STATE")" -gt "$REFUSED" ] || CODE=400
        echo "$CODE\""""
    ),
    "sleep": "exit 0",
}


@pytest.mark.parametrize(
    ("late", "refused", "code"), [(0, 0, "200"), (3, 0, "200"), (0, 2, "409"), (2, 2, "200")]
)
def test_it_goes_on_until_the_agent_answers_and_the_server_accepts(
    tmp_path: Path, late: int, refused: int, code: str
) -> None:
    for name, text in FAKES.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    state = tmp_path / "state"
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "STATE": str(state),
        "LATE": str(late),
        "REFUSED": str(refused),
        "CODE": code,
    }
    script = CHECKOUT / "compose" / "pmm" / "register.sh"
    # Its output stays open as long as something of it runs: the end of both is the end of the
    # registration.
    done = subprocess.run(
        ["bash", script], env=environment, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0
    calls = state.read_text().split()
    assert (calls.count("asked"), calls.count("sent")) == (late + refused + 1, refused + 1)

"""The README's commands, run as they stand there."""

import re
import subprocess
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def shell_commands() -> list[str]:
    """Every line of a ```sh block."""
    blocks = re.findall(r"^```sh\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    return [
        line.split("   #")[0].strip()
        for block in blocks
        for line in block.splitlines()
        if line.startswith("make ")
    ]


@pytest.mark.docker
def test_the_first_two_commands_run() -> None:
    first = next(command for command in shell_commands() if "galera3+haproxy" in command)
    try:
        done = subprocess.run(
            ["bash", "-c", first.replace("make bench", "make bench SECONDS=3 ROWS=2000")],
            cwd=README.parent,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "tps" in done.stdout
    finally:
        down = ["make", "down", "NAME=default"]
        subprocess.run(down, cwd=README.parent, capture_output=True, timeout=120, check=False)

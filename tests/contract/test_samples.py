"""`docker compose config` on every sample profile: needs the Compose plugin, no image and no
engine.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from contract import stacks
from sandbox.profile.compose import compose_text

SAMPLES = [
    path.stem for path in sorted((stacks.CHECKOUT / "tests" / "golden" / "compose").glob("*.yaml"))
]


def compose() -> list[str] | None:
    """The Compose v2 command of this machine, or None."""
    plugin = ["docker", "compose"]
    if (
        shutil.which("docker")
        and subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode == 0
    ):
        return plugin
    return ["docker-compose"] if shutil.which("docker-compose") else None


def test_there_are_samples() -> None:
    assert len(SAMPLES) >= 12


@pytest.mark.parametrize("profile", SAMPLES)
def test_compose_config_accepts(profile: str, tmp_path: Path) -> None:
    command = compose()
    if command is None:
        pytest.skip("no Docker Compose v2 here: its plugin reads the generated files")
    file = tmp_path / "stack.yaml"
    file.write_text(compose_text(stacks.document(profile)))
    done = subprocess.run(
        [*command, "-p", "other", "-f", str(file), "config", "--quiet"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "Compose warns: a variable or a key that it does not know"

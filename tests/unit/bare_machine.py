"""A checkout of its own with the bootstrap script, where Python, pip and Docker are recorders on
PATH.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = """bash cat chmod cp date dirname env flock grep head id mkdir mktemp mv perl rm sed sh sleep tail
timeout touch uname"""  # noqa: E501

# Makes a .venv whose Python is a recorder too: pip waits while the file "hold" exists, and fails
# where "broken" does.
PYTHON = """#!/bin/sh
case "$*" in
  *ensurepip*) echo "$0" ;;
  *'-m venv'*) mkdir -p .venv/bin .venv/packages && cp "$STATE/venv-python" .venv/bin/python ;;
esac
"""
VENV_PYTHON = """#!/bin/sh
case "$*" in
  *pip*)
    echo "pip $*" >>"$STATE/calls"
    while [ -e "$STATE/hold" ]; do sleep 0.02; done
    [ ! -e "$STATE/broken" ] || { echo 'ERROR: no index within reach'; exit 1; }
    ;;
  *purelib*) echo .venv/packages ;;
  *make_entry*) echo "runner ${*##*make_entry }" >>"$STATE/calls" ;;
esac
"""
DOCKER = """#!/bin/sh
echo "docker $*" >>"$STATE/calls"
case "$1" in
  version) if [ -e "$STATE/refusal" ]; then cat "$STATE/refusal" >&2; exit 1; else cat "$STATE/engine"; fi ;;
  compose) cat "$STATE/compose" ;;
  context) echo default ;;
esac
"""  # noqa: E501
SERVICE = """#!/bin/sh
echo "${0##*/} $*" >>"$STATE/calls" && rm -f "$STATE/refusal"
"""


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@dataclass(frozen=True)
class Machine:
    """A checkout, a PATH of its own and what was called."""

    folder: Path

    @property
    def checkout(self) -> Path:
        return self.folder / "check out"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder),
            "STATE": str(self.state),
        }

    def command(self, name: str, text: str) -> None:
        """Puts a command on PATH."""
        executable(self.folder / "bin" / name, text)

    def without(self, *names: str) -> None:
        """Takes commands from PATH."""
        for name in names:
            (self.folder / "bin" / name).unlink(missing_ok=True)

    def say(self, name: str, text: str) -> None:
        """What the fake Docker answers: engine, compose or refusal."""
        (self.state / name).write_text(text)

    def calls(self) -> list[str]:
        """Every call of a fake so far, oldest first."""
        log = self.state / "calls"
        return log.read_text().splitlines() if log.exists() else []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts the script in a process group of its own."""
        return subprocess.Popen(
            [self.checkout / "scripts" / "bootstrap", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the script to its end."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        """Runs shell text that has the script's functions, in the checkout."""
        return subprocess.run(
            ["bash", "-c", f"source scripts/bootstrap\n{script}"],
            cwd=self.checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def launched(machine: Machine, command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the checkout as make does, by the launcher, which is put there with all
    commands.
    """
    scripts = machine.checkout / "scripts"
    shutil.copy(ROOT / "scripts" / "launch", scripts)
    folder = Path("sandbox", "cli", "commands")
    shutil.copytree(ROOT / "scripts" / folder, scripts / folder, dirs_exist_ok=True)
    return subprocess.run(
        [scripts / "launch", command],
        env=machine.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def bare_machine(tmp_path: Path) -> Machine:
    """A machine that is fit, with nothing made ready yet."""
    made = Machine(tmp_path)
    for folder in (made.state, tmp_path / "bin", made.checkout / "scripts"):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "bootstrap", made.checkout / "scripts")
    (made.checkout / "scripts" / "requirements.lock").write_text("typer==1 --hash=sha256:0\n")
    (made.checkout / "scripts" / "development.lock").write_text("ruff==1 --hash=sha256:0\n")
    for tool in TOOLS.split():
        found = shutil.which(tool)
        if found:
            (tmp_path / "bin" / tool).symlink_to(found)
    executable(made.state / "venv-python", VENV_PYTHON)
    made.command("python3", PYTHON)
    made.command("docker", DOCKER)
    made.say("engine", "28.2.2\n")
    made.say("compose", "2.39.1-desktop.1\n")
    os.utime(tmp_path / "bin" / "docker", (1, 1))
    return made

"""The script beside the client: what pt-upgrade gets, what comes back, its end with its input."""

import os
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.stack.engine import CommandStream
from sandbox.stack.protocol import ExecResult
from sandbox.upgrade.toolkit import IMAGE, ToolkitRun, run_pt_upgrade
from unit.fake_stack import server

ACCOUNT = "[client]\nuser = root\npassword = S3cret\n"
LOG = "/*1*/ select 'Straße';\n" * 5000
"""Longer than a pipe's buffer."""
STAND_IN = """\
printf '%s\\n' "$@" | sed "s#$PWD#HERE#g"
cat account.cnf
wc -c <replay.log
echo 'a warning' >&2
exit 4
"""


class HereBeside:
    """Starts what is meant for a container on this machine, with a stand-in for pt-upgrade."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        program = folder / "pt-upgrade"
        (folder / "stand-in").write_text(text)
        program.write_text(f"exec 'sh', '{folder}/stand-in', @ARGV;\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.process: subprocess.Popen[str] | None = None

    def run(self, node: str, argv: Sequence[str], **_: Any) -> ExecResult:
        assert (node, argv) == ("client1", ["cat", "/sandbox/root.cnf"])
        return ExecResult(0, ACCOUNT, "")

    def stream_beside(
        self, node: str, image: str, argv: Sequence[str], weight: float
    ) -> CommandStream:
        assert (node, image, weight) == ("client1", IMAGE, 1.0)
        path = f"{self.folder}:{os.environ['PATH']}"
        self.process = subprocess.Popen(
            argv, text=True, env={**os.environ, "PATH": path, "TMPDIR": str(self.folder)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return CommandStream(self.process)


def carried_out(stack: Any, heard: list[str]) -> ToolkitRun:
    servers = server("mariadb1"), server("mariadb2", port=3307)
    return run_pt_upgrade(stack, "client1", servers, LOG, "library", heard.append)


def test_it_gets_both_files_and_both_servers(tmp_path: Path) -> None:
    heard: list[str] = []
    done = carried_out(HereBeside(tmp_path, STAND_IN), heard)
    lines = done.report.splitlines()
    assert lines[-1] == str(len(LOG.encode()))
    assert "\n".join(lines[-4:-1]) + "\n" == ACCOUNT
    assert "library" in lines and "--no-read-only" in lines
    assert "h=mariadb1,P=3306,F=HERE/account.cnf" in lines
    assert "h=mariadb2,P=3307,F=HERE/account.cnf" in lines
    assert (done.errors, done.code, done.troubles) == ("a warning", 4, [])
    assert heard[: len(lines)] == lines


@pytest.mark.parametrize("code", [1, 8, 255])
def test_another_code_says_why(tmp_path: Path, code: int) -> None:
    text = f"echo 'cannot connect' >&2\nexit {code}\n"
    done = carried_out(HereBeside(tmp_path, text), [])
    assert done.troubles == [f"pt-upgrade ended with {code}: cannot connect"]


def test_a_class_that_it_cannot_print_is_a_trouble(tmp_path: Path) -> None:
    said = "$VAR1 = {\n '/*17*/ select 1' => 2\n};\nError reporting query class 1: Use of %n"
    done = carried_out(HereBeside(tmp_path, f"cat >&2 <<'END'\n{said}\nEND\n"), [])
    assert (done.code, done.troubles, done.lost) == (0, [], frozenset([17]))


def test_it_ends_with_its_input(tmp_path: Path) -> None:
    stack = HereBeside(tmp_path, "echo begun\nexec sleep 300\n")

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt(line)

    servers = server("mariadb1"), server("mariadb2")
    with pytest.raises(KeyboardInterrupt, match="begun"):
        run_pt_upgrade(stack, "client1", servers, LOG, "library", interrupt)  # type: ignore[arg-type]
    assert stack.process is not None and stack.process.poll() is not None

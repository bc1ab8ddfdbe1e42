"""A copy of the checkout to which tests add something, and a Python in it that imports once."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from sandbox.core.paths import CHECKOUT

_IMPORTED = """\
import sandbox.cli.main
from sandbox.cli.registry import COMMANDS
COMMANDS.every()
"""
_FORKING = """\
import json, os, runpy, sys
exec(sys.argv[1], {})
for line in sys.stdin:
    words = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(int(sys.argv[2]), 1)
os.dup2(int(sys.argv[3]), 2)
if words[0] == "-m":
    sys.argv[:] = words[1:]
    runpy.run_module(words[1], run_name="__main__", alter_sys=True)
elif words[0] == "-c":
    sys.argv[:] = ["-c", *words[2:]]
    exec(words[1], {"__name__": "__main__"})
else:
    sys.argv[:] = words
    runpy.run_path(words[0], run_name="__main__")
"""
"""A process of its own for each call, without the second that the imports of each would take."""


def copied_checkout(folder: Path, names: Collection[str], leave_out: Collection[str] = ()) -> None:
    """Copies folders of the checkout, with their bytecode: nothing is compiled again."""
    for name in names:
        unused = shutil.ignore_patterns(*leave_out)
        shutil.copytree(CHECKOUT / name, folder / name, ignore=unused)
        if sys.pycache_prefix:
            compiled = _compiled(CHECKOUT / name)
            if compiled.is_dir():
                shutil.copytree(compiled, _compiled(folder / name))


def remove_bytecode(folder: Path) -> None:
    """Removes the bytecode of a copy, of which nothing is left to find it by."""
    if sys.pycache_prefix:
        shutil.rmtree(_compiled(folder), ignore_errors=True)


def _compiled(folder: Path) -> Path:
    """Where Python keeps the bytecode of a folder."""
    return Path(sys.pycache_prefix or "", *folder.parts[1:])


class CopiedPython:
    """The Python of a copy, with its package; every call is a process of its own."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._printed = TemporaryFile("w+")  # noqa: SIM115  (closed with the process)
        self._said = TemporaryFile("w+")  # noqa: SIM115
        outputs = (self._printed.fileno(), self._said.fileno())
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKING, _IMPORTED, *map(str, outputs)],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=outputs,
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What comes of ``python`` with these words."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        printed, said = _taken(self._printed), _taken(self._said)
        return subprocess.CompletedProcess(words, code, printed, said)

    def close(self) -> None:
        """Ends it."""
        self._process.communicate()
        self._printed.close()
        self._said.close()


def _taken(file: IO[str]) -> str:
    """What a call has written, which makes room for the next one."""
    file.seek(0)
    text = file.read()
    file.seek(0)
    file.truncate()
    return text

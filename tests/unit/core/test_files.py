"""A file is whole whenever its writer stops."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.core.paths import write_atomically

SCRIPTS = Path(__file__).parents[3] / "scripts"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    write_atomically(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


_ENDLESS_WRITER = """
import sys
from pathlib import Path
from sandbox.core.paths import write_atomically
number = 0
while True:
    number += 1
    write_atomically(Path(sys.argv[1]), '{"numbers": [' + ','.join([str(number)] * 50_000) + ']}')
"""


def test_a_writer_killed_in_the_middle_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for _ in range(2):
        writer = subprocess.Popen(
            [sys.executable, "-c", _ENDLESS_WRITER, str(path)], env={"PYTHONPATH": str(SCRIPTS)}
        )
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob(".record.json.*.tmp")) or not path.exists():
            assert time.monotonic() < deadline and writer.poll() is None, "the writer never wrote"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        numbers = json.loads(path.read_text())["numbers"]
        assert len(numbers) == 50_000 and len(set(numbers)) == 1

"""Runs in a helper: copies data directories into a snapshot, once while servers run and once while
they are paused.

Volumes are mounted at /from/NAME or /to/NAME, the new snapshot at /snapshot, those to be read at
/snapshots/VOLUME. Standard input has one request per line, standard output one answer for each.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

SNAPSHOT = Path("/snapshot")
SOURCES = Path("/from")
TARGETS = Path("/to")
SNAPSHOTS = Path("/snapshots")
CERTIFICATES = ("./*.pem",)
LEFT_OUT = (
    # What each server makes for itself: its identity, temporary and spare files, caches.
    "./auto.cnf",
    "./ibtmp1",
    "./#innodb_temp/*",
    "./#innodb_redo/*_tmp",
    "./galera.cache",
    "./gvwstate.dat",
    "./*.pid",
    "./*.sock",
    "./*.lock",
)
CHANGED_MEANWHILE = 1
"""tar's exit code where a file changed while it was read: the second pass reads it again."""


def archive(name: str, level: int) -> None:
    """One pass over a volume: everything (0), or what changed since the first one (1), by tar's own
    record.

    The second one is not compressed: the servers are paused, and every moment counts.
    """
    listing = f"--listed-incremental={SNAPSHOT / name}.listing"
    left_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    target = SNAPSHOT / f"{name}.{level}.tar"
    command = [
        "tar",
        "-C",
        str(SOURCES / name),
        "-c",
        "--anchored",
        "--numeric-owner",
        listing,
        *left_out,
        ".",
    ]
    with target.open("wb") as file:
        if level == 1:
            done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, check=False)
        else:
            with subprocess.Popen(
                ["zstd", "-q", "-1", "-c"], stdin=subprocess.PIPE, stdout=file
            ) as squeezer:
                done = subprocess.run(
                    command, stdout=squeezer.stdin, stderr=subprocess.PIPE, check=False
                )
                squeezer.communicate()
                if squeezer.returncode:
                    sys.exit("zstd failed: is the disk full?")
    if done.returncode > (CHANGED_MEANWHILE if level == 0 else 0):
        sys.exit(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])


def one_pass(names: list[str], level: int) -> None:
    """Pass 0: everything, while the servers run; pass 1: changes since, while they are paused."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: archive(name, level), names))


def finish(names: list[str]) -> int:
    """Compresses the second pass too, and syncs everything to disk; returns the snapshot's size in
    bytes.
    """
    for name in names:
        subprocess.run(["zstd", "-q", "-1", "--rm", "-f", str(SNAPSHOT / f"{name}.1.tar"), "-o",
                        str(SNAPSHOT / f"{name}.1.tar.zst")], check=True)  # fmt: skip
        (SNAPSHOT / f"{name}.0.tar").rename(SNAPSHOT / f"{name}.0.tar.zst")
        (SNAPSHOT / f"{name}.listing").unlink()
    subprocess.run(["sync", "-f", str(SNAPSHOT)], check=True)
    return sum(path.stat().st_size for path in SNAPSHOT.iterdir())


def restore(volumes: dict[str, dict[str, Any]]) -> None:
    """Fills every volume at /to; ``volumes``: name → where its files come from (`VolumeSource` in
    restore.py).
    """
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda item: fill(TARGETS / item[0], **item[1]), volumes.items()))


def fill(
    target: Path, snapshot: str, archive: str, position: str | None, new_identity: bool
) -> None:
    """Fills one volume: both passes in order, as tar's incremental mode unpacks them."""
    left_out = [f"--exclude={pattern}" for pattern in CERTIFICATES] if new_identity else []
    for level in (0, 1):
        packed = SNAPSHOTS / snapshot / f"{archive}.{level}.tar.zst"
        with subprocess.Popen(["zstd", "-qdc", str(packed)], stdout=subprocess.PIPE) as source:
            command = [
                "tar",
                "-C",
                str(target),
                "-x",
                "--numeric-owner",
                "--listed-incremental=/dev/null",
                *left_out,
            ]
            done = subprocess.run(command, stdin=source.stdout, capture_output=True, check=False)
        if done.returncode or source.returncode:
            sys.exit(
                done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                or "the snapshot cannot be read"
            )
    if position:
        set_position(target, *position.split(":"))


def set_position(folder: Path, uuid: str, seqno: str) -> None:
    """Writes the grastate.dat of a clean shutdown, so that a start does not ask InnoDB for the
    position.
    """
    lines = [
        "# GALERA saved state",
        "version: 2.1",
        f"uuid:    {uuid}",
        f"seqno:   {seqno}",
        "safe_to_bootstrap: 0",
    ]
    path = folder / "grastate.dat"
    owner = folder.stat()
    path.write_text("\n".join(lines) + "\n")
    os.chown(path, owner.st_uid, owner.st_gid)
    path.chmod(0o660)


WORK: dict[str, Callable[..., int | None]] = {
    "first": lambda names: one_pass(names, 0),
    "second": lambda names: one_pass(names, 1),
    "finish": finish,
    "restore": restore,
}

for line in sys.stdin:
    request = json.loads(line)
    print(
        json.dumps({"done": request["work"], "bytes": WORK[request["work"]](request["volumes"])}),
        flush=True,
    )

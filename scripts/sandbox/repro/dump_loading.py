"""A dump from this machine's disk: whether it can be loaded, and its way into a server."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandbox.repro.dump import FORMS, DumpFile, is_dump, stages_of_folder
from sandbox.stack.protocol import EntryPoint, ExecResult, RunningStack

_UNPACK = {".gz": "gzip -dc |", ".zst": "zstd -dcq |"}
"""By ending, what unpacks a file in the client node."""
_AT_ONCE = 4
"""Files of one stage that are loaded at the same time."""
_LIMIT_S = 3600.0
_UNCHECKED = "SET SESSION foreign_key_checks = 0, unique_checks = 0"
"""A folder has its tables, and their rows, in any order."""


class DumpError(Exception):
    """A dump that cannot be loaded, and why."""


def refuse_dump(path: Path) -> None:
    """Raises DumpError for a dump that is not there, of a form that is not loaded, or incomplete;
    reads names alone.
    """
    _stages(path)


def load_dump(
    stack: RunningStack, client: str, writer: EntryPoint, path: Path, schema: str
) -> None:
    """Loads a dump through a server, with the servers' own client in the client node.

    A file goes into ``schema``, a folder into the schemas that it has. Raises DumpError, also where
    a server refuses a statement.
    """
    folder, stages = _stages(path)
    options = [] if folder == path.parent else [f"--init-command={_UNCHECKED}"]

    def load(file: DumpFile) -> tuple[str, ExecResult]:
        return file.name, _loaded(
            stack, client, writer, folder / file.name, options, file.schema or schema
        )

    for stage in stages:
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            for name, done in pool.map(load, stage):
                if done.code:
                    raise DumpError(f"{folder / name} fails: {done.last_error}")


def _stages(path: Path) -> tuple[Path, Sequence[Sequence[DumpFile]]]:
    """The folder that has the files, and the files in stages. Raises DumpError."""
    if path.is_dir():
        try:
            return path, stages_of_folder([each.name for each in path.iterdir()])
        except ValueError as problem:
            raise DumpError(f"{path}: {problem}") from problem
    if not path.is_file():
        raise DumpError(f"{path} is not there")
    if not is_dump(path.name):
        raise DumpError(f"{path} is no dump: one is a folder of mydumper, or {', '.join(FORMS)}")
    return path.parent, [[DumpFile(path.name)]]


def _loaded(
    stack: RunningStack,
    client: str,
    writer: EntryPoint,
    path: Path,
    options: Sequence[str],
    schema: str,
) -> ExecResult:
    unpack = _UNPACK.get(path.suffix, "")
    script = f'set -o pipefail; {unpack} mysql "$@"'
    login = ["--defaults-file=/sandbox/root.cnf", *options, "-h", writer.host]
    argv = ["bash", "-c", script, "load", *login, "-P", str(writer.port), schema]
    try:
        # Every byte as it is: a dump may hold what is no text of UTF-8, and a packed one does.
        content = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as problem:
        raise DumpError(f"{path} cannot be read: {problem}") from problem
    return stack.run(client, argv, content, _LIMIT_S)

"""Reads the binary logs of several servers at once: by mysqlbinlog, in each server's own node."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sandbox.consistency.binary_log import KeysOfTable, LogContents, TableName, read_log
from sandbox.record.consistency import LogRead
from sandbox.stack.client_python import QueryResult, ask, targets_of
from sandbox.stack.protocol import RunningStack, StackNode

MEGABYTES = 16
"""So much of the end of a binary log is read."""
_SCRIPT = (
    "tool=$(command -v mariadb-binlog || command -v mysqlbinlog) || exit 3;"
    ' exec "$tool" --no-defaults --base64-output=decode-rows -v "$@"'
)
_NO_TOOL = 3
_END_S = 10.0


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a binary log that are read. ``is_whole``: whether these are all."""

    paths: tuple[str, ...] = ()
    is_whole: bool = False
    why_not: str | None = None


def read_logs(
    stack: RunningStack,
    client: str,
    servers: Sequence[StackNode],
    wanted: Mapping[TableName, KeysOfTable],
    megabytes: int = MEGABYTES,
) -> dict[str, tuple[LogRead, LogContents]]:
    """By server: how much of its log was read, and what is in it. Raises MachineError where the
    client node fails.
    """
    with_files = [server for server in servers if server.has_container]
    names = ask(stack, client, targets_of(with_files), ["SELECT @@global.log_bin_basename"])
    sizes = ask(stack, client, targets_of(with_files), ["SHOW BINARY LOGS"])
    files = {
        server.name: _files(names[server.name], sizes[server.name], megabytes * 1024 * 1024)
        for server in with_files
    }

    def one(server: StackNode) -> tuple[LogRead, LogContents]:
        return _read(stack, server.name, files[server.name], wanted)

    with ThreadPoolExecutor(max_workers=max(1, len(with_files))) as pool:
        found = list(pool.map(one, with_files))
    return {server.name: each for server, each in zip(with_files, found, strict=True)}


def _files(name: QueryResult, sizes: QueryResult, most: int) -> _Files:
    """The last files, up to ``most`` bytes together: to read a million changes takes a minute."""
    rows = sizes.rows(0)
    base = name.rows(0)[0][0] if name.rows(0) else None
    if not rows or not base:
        return _Files(why_not="its binary log is off")
    folder = str(base).rpartition("/")[0]
    chosen: list[str] = []
    left = most
    for row in reversed(rows):
        size = int(row[1] or 0)
        if size > left:
            break
        chosen.append(f"{folder}/{row[0]}")
        left -= size
    if not chosen:
        megabytes = int(rows[-1][1] or 0) / 1024 / 1024
        return _Files(why_not=f"its last file has {megabytes:.0f} MB (LOG_MB= reads more)")
    chosen.reverse()
    return _Files(tuple(chosen), is_whole=len(chosen) == len(rows))


def _read(
    stack: RunningStack, node: str, files: _Files, wanted: Mapping[TableName, KeysOfTable]
) -> tuple[LogRead, LogContents]:
    if files.why_not is not None:
        return LogRead(why_not=files.why_not), LogContents()
    stream = stack.stream(node, ["bash", "-c", _SCRIPT, "bash", *files.paths])
    try:
        contents = read_log(stream.lines(), wanted)
        code = stream.wait(_END_S)
    finally:
        stream.kill()
    if code == _NO_TOOL:
        return LogRead(why_not="its image has no mysqlbinlog"), LogContents()
    if code:
        why_not = f"mysqlbinlog ended with exit code {code}"
        return LogRead(why_not=why_not), LogContents()
    first = files.paths[0].rpartition("/")[2]
    count = len(contents.digests)
    return LogRead(transactions=count, first_file=first, is_whole=files.is_whole), contents

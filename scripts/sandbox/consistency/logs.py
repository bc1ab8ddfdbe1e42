"""Reads the binary logs of several servers at once: by mysqlbinlog, in each server's own node."""

import base64
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sandbox.consistency.binary_log import (
    MOST_OF_GTID_EVENT,
    KeysOfTable,
    LogContents,
    TableName,
    first_transaction,
    read_log,
)
from sandbox.record.consistency import LogRead
from sandbox.stack.client_python import QueryResult, ask, targets_of
from sandbox.stack.protocol import RunningStack, StackNode

MEGABYTES = 16
"""So much of the end of a binary log is read."""
_SCRIPT = (
    "tool=$(command -v mariadb-binlog || command -v mysqlbinlog) || exit 3;"
    ' exec "$tool" --no-defaults --base64-output=decode-rows -v "$@"'
)
_PART_SCRIPT = 'tail -c "+$1" "$3" | head -c "$2" | base64 -w 0'
_PART = 1024 * 1024
"""Bytes in which the beginning of a transaction is looked for at a time."""
_NO_TOOL = 3
_END_S = 10.0


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a binary log that are read. ``is_whole``: whether these are all."""

    paths: tuple[str, ...] = ()
    is_whole: bool = False
    start: int = 0
    """The first is read from the first transaction behind this byte on; 0: from its beginning."""
    end: int = 0
    """Bytes of the first file."""
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
    """The end of the log, ``most`` bytes: to read a million changes takes a minute."""
    rows = sizes.rows(0)
    base = name.rows(0)[0][0] if name.rows(0) else None
    if not rows or not base:
        return _Files(why_not="its binary log is off")
    folder = str(base).rpartition("/")[0]
    chosen: list[str] = []
    size = 0
    left = most
    for row in reversed(rows):
        if left <= 0:
            break
        size = int(row[1] or 0)
        chosen.append(f"{folder}/{row[0]}")
        left -= size
    start = max(0, -left)
    chosen.reverse()
    is_whole = start == 0 and len(chosen) == len(rows)
    return _Files(tuple(chosen), is_whole=is_whole, start=start, end=size)


def _first_transaction(stack: RunningStack, node: str, files: _Files) -> int | None:
    """Where the first transaction behind the start begins in the first file."""
    step = _PART - 2 * MOST_OF_GTID_EVENT
    for at in range(files.start, files.end, step):
        argv = ["bash", "-c", _PART_SCRIPT, "bash", str(at + 1), str(_PART), files.paths[0]]
        content = base64.b64decode(stack.run(node, argv).stdout)
        found = first_transaction(content, at)
        if found is not None:
            return found
    return None


def _read(
    stack: RunningStack, node: str, files: _Files, wanted: Mapping[TableName, KeysOfTable]
) -> tuple[LogRead, LogContents]:
    if files.why_not is not None:
        return LogRead(why_not=files.why_not), LogContents()
    paths = files.paths
    from_there: list[str] = []
    position = (_first_transaction(stack, node, files) or 0) if files.start else 0
    if position:
        from_there = [f"--start-position={position}"]
    elif files.start:
        paths = paths[1:]
    if not paths:
        return LogRead(why_not=_no_beginning(files)), LogContents()
    stream = stack.stream(node, ["bash", "-c", _SCRIPT, "bash", *from_there, *paths])
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
    first = paths[0].rpartition("/")[2]
    count = len(contents.digests)
    read = LogRead(
        transactions=count, first_file=first, first_position=position, is_whole=files.is_whole
    )
    return read, contents


def _no_beginning(files: _Files) -> str:
    megabytes = (files.end - files.start) / 1024 / 1024
    name = files.paths[0].rpartition("/")[2]
    return f"no transaction begins in the last {megabytes:.0f} MB of {name} (LOG_MB= reads more)"

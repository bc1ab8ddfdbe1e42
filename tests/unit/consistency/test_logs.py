"""Which part of a binary log is read."""

from sandbox.consistency.logs import _files
from sandbox.stack.client_python import QueryResult

MEGABYTE = 1024 * 1024
BASE = QueryResult(((("/var/lib/mysql/binlog",),),), None, None)


def logs(*sizes: int) -> QueryResult:
    rows = tuple((f"binlog.{number:06}", size) for number, size in enumerate(sizes, 1))
    return QueryResult((rows,), None, None)


def test_the_end_of_the_log_is_read() -> None:
    found = _files(BASE, logs(900, 500, 300), 1000)
    names = ["binlog.000001", "binlog.000002", "binlog.000003"]
    assert found.paths == tuple(f"/var/lib/mysql/{name}" for name in names)
    assert (found.start, found.end, found.is_whole) == (700, 900, False)


def test_files_that_fit_are_read_from_their_beginning() -> None:
    found = _files(BASE, logs(900, 500, 500), 1000)
    assert found.paths == ("/var/lib/mysql/binlog.000002", "/var/lib/mysql/binlog.000003")
    assert (found.start, found.is_whole) == (0, False)
    assert _files(BASE, logs(100, 200), 1000).is_whole


def test_of_a_large_last_file_the_end_is_read() -> None:
    found = _files(BASE, logs(5, 190 * MEGABYTE), 16 * MEGABYTE)
    assert found.paths == ("/var/lib/mysql/binlog.000002",)
    assert found.start == 174 * MEGABYTE


def test_a_server_without_a_binary_log() -> None:
    off = QueryResult((), "error 1381", 1381)
    assert _files(BASE, off, 1000).why_not == "its binary log is off"

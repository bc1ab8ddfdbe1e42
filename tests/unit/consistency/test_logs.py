"""Which files of a binary log are read."""

from sandbox.consistency.logs import _files
from sandbox.stack.client_python import QueryResult

MEGABYTE = 1024 * 1024
BASE = QueryResult(((("/var/lib/mysql/binlog",),),), None, None)


def logs(*sizes: int) -> QueryResult:
    rows = tuple((f"binlog.{number:06}", size) for number, size in enumerate(sizes, 1))
    return QueryResult((rows,), None, None)


def test_the_last_files_that_fit_are_read() -> None:
    found = _files(BASE, logs(900, 500, 300), 1000)
    assert found.paths == ("/var/lib/mysql/binlog.000002", "/var/lib/mysql/binlog.000003")
    assert not found.is_whole
    assert _files(BASE, logs(100, 200), 1000).is_whole


def test_of_a_large_last_file_nothing_is_read_and_it_says_so() -> None:
    found = _files(BASE, logs(5, 190 * MEGABYTE), 16 * MEGABYTE)
    assert found.paths == ()
    assert found.why_not == "its last file has 190 MB (LOG_MB= reads more)"


def test_a_server_without_a_binary_log() -> None:
    off = QueryResult((), "error 1381", 1381)
    assert _files(BASE, off, 1000).why_not == "its binary log is off"

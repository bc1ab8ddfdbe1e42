"""The lines of observers become lines for the user, with the time of each change."""

from sandbox.measure.trial.watch import ChangeLog
from unit.fake_stack import server

HEADER = '{"probe": 1, "began_utc_s": 1796000000.5}'
ROW = '{"channels":[{"Source_Host":"mysql1","Replica_IO_Running":"Yes","Replica_SQL_Running":"Yes"}],"read_only":1}'  # noqa: E501


def test_a_change_is_a_line_with_its_time_in_utc() -> None:
    said: list[str] = []
    log = ChangeLog([server("mysql1"), server("replica1", "replica")], said.append)
    log.take(HEADER)
    log.take('w\tmysql1\t250000\t{"channels":[],"read_only":0}')
    log.take(f"w\treplica1\t1000000\t{ROW}")
    log.take(f"w\treplica1\t1200000\t{ROW}")
    log.take("s\treplica1\t1200000\t{}")
    assert said == [
        "00:53:20.750  mysql1      writer  running",
        "00:53:21.500  replica1    reader  replicating     from mysql1",
    ]


def test_the_engine_and_the_log_say_what_a_silent_server_does() -> None:
    said: list[str] = []
    log = ChangeLog([server("galera1", family="mariadb", topology="galera")], said.append)
    log.take(HEADER)
    log.container("galera1", "exited (137)")
    assert not log.silent()
    log.container("galera1", "running")
    assert log.silent() == ["galera1"]
    log.log("galera1", "2026-11-29 WSREP_SST: [INFO] Streaming SST")
    assert [line.split(maxsplit=1)[1].split() for line in said] == [
        ["galera1", "-", "down", "exited", "(137)"],
        ["galera1", "-", "no", "answer", "it", "is", "starting"],
        ["galera1", "-", "joiner", "full", "state", "transfer", "(SST)"],
    ]

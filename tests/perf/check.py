"""perf: how long it takes to compare a million rows on three servers."""

import statistics
from typing import Any

from perf.timing import NAME, sandbox, tell, timed

_ROWS = 1_000_000
_MADE = (
    "create table sbtest.million (id int primary key, k int not null, c char(120) not null, pad"
    " char(60) not null) engine=innodb; insert into sbtest.million select seq, seq * 7919 % 1000,"
    f" repeat(md5(seq), 3), md5(seq) from seq_1_to_{_ROWS}"
)
"""The columns of sysbench's tables, filled by MariaDB's sequence engine."""


def check_figures(repetitions: int) -> dict[str, Any]:
    """Seconds of `check` on galera3, median."""
    tell(f"check of {_ROWS:,} rows on galera3, {repetitions} times")
    sandbox("up", "--name", NAME, "--profile", "galera3@11.8")
    try:
        sandbox("sql", "--name", NAME, "--node", "galera1", "--execute", _MADE)
        samples = [timed(lambda: sandbox("check", "--name", NAME)) for _ in range(repetitions)]
    finally:
        sandbox("down", "--name", NAME)
    return {"check_1m_rows_s": round(statistics.median(samples), 2)}

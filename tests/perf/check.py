"""perf: how long it takes to compare a million rows on three servers, and to collect evidence."""

import statistics
from tempfile import TemporaryDirectory
from typing import Any

from perf.timing import NAME, sandbox, tell, timed

_ROWS = 1_000_000
_MADE = (
    "use sbtest; create table sbtest.million (id int primary key, k int not null, c char(120) not"
    " null, pad char(60) not null) engine=innodb; insert into sbtest.million select seq, seq * 7919"
    f" % 1000, repeat(md5(seq), 3), md5(seq) from seq_1_to_{_ROWS}"
)
"""The columns of sysbench's tables, filled by MariaDB's sequence engine."""


def check_figures(repetitions: int) -> dict[str, Any]:
    """Seconds of `check` and of `collect` on galera3, medians."""
    tell(f"check of {_ROWS:,} rows on galera3, and collect, {repetitions} times")
    sandbox("up", "--name", NAME, "--profile", "galera3@11.8")
    try:
        sandbox("sql", "--name", NAME, "--node", "galera1", "--execute", _MADE)
        # The other nodes are done applying it.
        sandbox("check", "--name", NAME, "--within", "120")
        checks = [timed(lambda: sandbox("check", "--name", NAME)) for _ in range(repetitions)]
        with TemporaryDirectory() as folder:
            archive = f"{folder}/evidence.tar.zst"
            collects = [
                timed(lambda: sandbox("collect", "--name", NAME, "--out", archive))
                for _ in range(repetitions)
            ]
    finally:
        sandbox("down", "--name", NAME)
    return {
        "check_1m_rows_s": round(statistics.median(checks), 2),
        "collect_s": round(statistics.median(collects), 2),
    }

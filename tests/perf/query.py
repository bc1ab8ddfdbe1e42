"""perf: how long a query over ten thousand records takes, and to load a thousand of them."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sandbox.core.paths import CHECKOUT
from sandbox.record.manifest import Manifest, RunEntry
from sandbox.record.record import Environment, Metrics, NodeRecord, Record, WorkloadRecord
from sandbox.record.store import ResultFolder

_RECORDS, _OF_ONE_RESULT = 10_000, 100
_TIMES = 5
_VARIABLES, _COUNTERS = 640, 310
"""As MySQL 9.7 has them: a record is some forty kilobytes."""
_SQL = (
    "select workload, server_version, count(*), avg(tps), median(latency_p95_ms) from runs group by"
    " all order by all"
)
_ASK = """
import sys
from pathlib import Path
from sandbox.cli.common.queries import query as run
sys.exit(run(sys.argv[2], results=Path(sys.argv[1])))
"""


def query_figures() -> dict[str, float]:
    """Seconds of a whole command, its start included: the first reads every record, later ones what
    is new.
    """
    with tempfile.TemporaryDirectory(prefix="sandbox-perf-") as folder:
        results = Path(folder)
        made = [make_result(results, number) for number in range(_RECORDS // _OF_ONE_RESULT)]
        loaded = _timed(lambda: [result.records() for result in made[: 1000 // _OF_ONE_RESULT]])
        first = _timed(lambda: _ask(results))
        again = statistics.median(_timed(lambda: _ask(results)) for _ in range(_TIMES))
    return {
        "query_10000_records_s": round(again, 3),
        "query_10000_records_first_s": round(first, 3),
        "load_1000_records_s": round(loaded, 3),
    }


def _ask(results: Path) -> None:
    command = [sys.executable, "-c", _ASK, str(results), _SQL]
    environment = {"PYTHONPATH": str(CHECKOUT / "scripts")}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def _timed(action: Callable[[], object]) -> float:
    begin = time.monotonic()
    action()
    return time.monotonic() - begin


def make_result(results: Path, number: int, records: int = _OF_ONE_RESULT) -> ResultFolder:
    """A bench with many blocks, of the size that a real one has; written at once, without a flush
    for each record.
    """
    started = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    runs = [RunEntry(run=f"bench.{block + 1}", status="ok") for block in range(records)]
    manifest = Manifest(
        kind="bench", slug="perf", profile="mysql@9.7", command=[], started_utc=started, runs=runs
    )
    result = ResultFolder.create(results, manifest)
    for block, entry in enumerate(runs, start=1):
        folder = result.path / "runs" / entry.run
        folder.mkdir()
        (folder / "record.json").write_text(
            _record(result.path.name, block, number, started).to_json()
        )
    return result


def _record(result: str, block: int, number: int, started: datetime) -> Record:
    tps = 1000.0 + 7 * block + number
    return Record(
        run_id=f"{result}/bench.{block}",
        profile="mysql@9.7",
        stack="perf",
        started_utc=started + timedelta(seconds=block),
        seed=block,
        cell="bench",
        block=block,
        status="ok",
        reason=None,
        command=["sandbox", "bench"],
        nodes=[_node()],
        workload=WorkloadRecord(
            name="oltp_read_only",
            threads=1 << block % 7,
            seconds=10,
            warmup_s=2,
            tables=4,
            rows_per_table=100_000,
            distribution="uniform",
            rate_per_s=None,
            options={},
        ),
        metrics=Metrics(
            tps=tps, qps=16 * tps, latency_avg_ms=8e3 / tps, latency_p95_ms=12e3 / tps, errors=0
        ),
        status_delta={
            "mysql1": {f"Counter_of_this_server_{n}": n * block for n in range(_COUNTERS)}
        },
        variables={"mysql1": {f"variable_of_this_server_{n}": str(n) for n in range(_VARIABLES)}},
        environment=Environment(cpu_model="Perf", cpus=2),
        checks=[],
        files={},
    )


def _node() -> NodeRecord:
    return NodeRecord(
        name="mysql1",
        term="mysql@9.7",
        role="writer",
        image="perf",
        image_id=None,
        image_source="built",
        digest=None,
        package_version="9.7.4-2",
        server_version="9.7.4-2 (Debian)",
    )

"""sysbench's OLTP scripts, run in the client node; a workload profile names the script."""

import hashlib
import re
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from sandbox.errors import SandboxError, did_you_mean
from sandbox.results.record import Metrics, PreparationRecord
from sandbox.stack.protocol import EntryPoint
from sandbox.workloads.common import prepared, zipfian
from sandbox.workloads.common.execution import OVERTIME_S, TIMED_OUT, run_load
from sandbox.workloads.common.in_client import folder_of, ship
from sandbox.workloads.common.model import (
    DataNeed,
    OptionValue,
    Outcome,
    Parameters,
    Phase,
    Progress,
    Session,
    Workload,
    WorkloadError,
    phase_seconds,
)
from sandbox.workloads.common.sysbench_command import as_option, sysbench_argv
from sandbox.workloads.common.sysbench_output import (
    HISTOGRAM_PRECISION_PERCENT,
    HISTOGRAM_RESOLUTION_MS,
    IGNORED_BY_DEFAULT,
    ErrorCount,
    Summary,
    parse_second,
    parse_summary,
    percentile,
)

PREPARE_LIMIT_S = 24 * 3600
"""Limit of a preparation: large data takes hours, a hanging server takes forever."""

MOST_PREPARE_THREADS = 8

_INIT_TIMEOUT = "--thread-init-timeout"
INIT_TIMEOUT_S = 30
"""sysbench's own default."""

PREPARE_OLTP = "prepare_oltp"
"""Our script in the client image: makes the same tables on every server, whatever its auto-increment settings."""

_ROLLED_BACK_BY_GROUP = 3101
"""ER_TRANSACTION_ROLLBACK_DURING_COMMIT: Group Replication's certification conflict."""


STOCK_SCRIPTS = (
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
)
"""Scripts that sysbench 1.0 ships."""

SCRIPT_OPTIONS = {
    "point_selects": "point reads per transaction",
    "range_selects": "whether there are range reads at all",
    "range_size": "rows per range",
    "simple_ranges": "range reads per transaction",
    "sum_ranges": "sums over a range per transaction",
    "order_ranges": "ordered range reads per transaction",
    "distinct_ranges": "DISTINCT range reads per transaction",
    "index_updates": "updates of the indexed column per transaction",
    "non_index_updates": "updates of a non-indexed column per transaction",
    "delete_inserts": "rows deleted and inserted again per transaction",
    "skip_trx": "autocommit instead of transactions",
}
"""Transaction options of the scripts that include oltp_common (sysbench 1.0, oltp_common.lua)."""


_OWN_OPTIONS = ("data", "db_ps_mode", "thread_init_timeout_s")
_STANDARD_TABLES = re.compile(r"""require\s*\(?\s*["']oltp_common["']""")
_PREPARES = re.compile(r"\bfunction\s+(cmd_)?prepare\b|\bprepare\s*=")
_CLEANS_UP = re.compile(r"\bfunction\s+(cmd_)?cleanup\b|\bcleanup\s*=")
_SIZES = re.compile(r"\b(tables|table_size)\s*=")


class Sysbench(Workload):
    """Options of a workload profile: which script, what its tables look like, and what a run leaves of the data."""

    script: str
    tables: Literal["oltp", "bulk_insert", "own", "none"] = "oltp"
    """``own``: the script's own `prepare` makes them."""
    data: Literal["kept", "consumed"] = Field(
        default="kept", description="kept, or consumed: a run changes it permanently, each phase starts from new data"
    )
    db_ps_mode: Literal["auto", "disable"] = Field(
        default="auto",
        description="auto, or disable: no prepared statements, which pin connections that a proxy shares",
    )
    thread_init_timeout_s: int = Field(
        default=INIT_TIMEOUT_S, ge=1, description="seconds for all threads to connect, where sysbench supports it (1.1)"
    )
    text: str | None = Field(default=None, exclude=True)
    """The script itself, where it is the user's own."""
    script_options: dict[str, OptionValue] = Field(default_factory=dict, exclude=True)
    """Further options of the script: ``range_size`` becomes ``--range-size``."""

    @model_validator(mode="after")
    def _there_is_one(self) -> "Sysbench":
        if self.text is None and self.script not in (*STOCK_SCRIPTS, PREPARE_OLTP):
            raise ValueError(f"sysbench has no script '{self.script}'; {did_you_mean(self.script, STOCK_SCRIPTS)}")
        return self

    @property
    def uses(self) -> frozenset[str]:
        """A script of the user's own has tables and rows only if it says so."""
        sized = {"tables", "rows_per_table"} if self._is_sized else set()
        return frozenset({"distribution", "rate_per_s"} | sized)

    @property
    def consumes_data(self) -> bool:
        """As the profile says."""
        return self.data == "consumed"

    def options(self) -> dict[str, OptionValue]:
        """Includes the script's options."""
        options = super().options()
        usual = ("db_ps_mode", "thread_init_timeout_s")  # shown only where they differ from sysbench's defaults
        for name in usual:
            if options[name] == type(self).model_fields[name].default:
                del options[name]
        return {**options, **self.script_options}

    def with_options(self, given: Mapping[str, OptionValue]) -> Workload:
        """Other options go to the script: one of SCRIPT_OPTIONS, or any option for the user's own script.

        Raises SandboxError (exit 2).
        """
        own = {name: value for name, value in given.items() if name in _OWN_OPTIONS}
        others = {name.replace("-", "_"): value for name, value in given.items() if name not in own}
        for name in others:
            if self.text is None and name not in SCRIPT_OPTIONS:
                known = did_you_mean(name, [*_OWN_OPTIONS, *SCRIPT_OPTIONS])
                raise SandboxError(f"OPTIONS: {self.script} has no option '{name}'", known, "try: make help")
        changed = super().with_options(own)
        return changed.model_copy(update={"script_options": {**self.script_options, **others}})

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Reuses the data of an earlier run where it is still valid, else makes it."""
        if self.text is not None:
            ship(session.stack, session.client, self._files)
        if wrapped := zipfian.around(self._script, session.parameters.distribution):
            ship(session.stack, session.client, wrapped)
        if self.tables == "none":
            return None
        wanted = self._wanted(session.parameters)
        if self.data == "kept" and prepared.find(session, wanted.prefix) == wanted:
            session.on_event(Progress("prepare", f"reusing data: {wanted}"))
            return wanted.record(None)
        seconds = self._make(session, log)
        if self.data == "kept":
            prepared.mark(session, wanted)
        return wanted.record(seconds)

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Runs the script for the seconds of the phase."""
        argv = self._argv(session, phase)
        reader = _Reader(session, phase)
        code = run_load(session.stack, session.client, argv, phase_seconds(session.parameters, phase), log, reader.read)
        return Outcome(tuple(argv), reader.metrics(), reader.failure(code))

    @property
    def _is_sized(self) -> bool:
        return self.tables in ("oltp", "bulk_insert") or bool(_SIZES.search(self.text or ""))

    @property
    def _files(self) -> dict[str, str]:
        """The user's own script as a file of the client node."""
        return {self.script: self.text or ""}

    def data_needed(self, parameters: Parameters) -> DataNeed | None:
        """As many rows as TABLES and ROWS say, where the script uses them."""
        if self.tables == "none":
            return None
        wanted = self._wanted(parameters)
        return DataNeed(wanted.prefix, str(wanted), wanted.table_count * (wanted.rows_per_table or 0))

    def _wanted(self, parameters: Parameters) -> prepared.Prepared:
        if self.tables == "bulk_insert":
            return prepared.Prepared("bulk_insert", parameters.threads, 0)
        if self.tables == "own":
            hashed = hashlib.sha256((self.text or "").encode()).hexdigest()
            return prepared.Prepared(
                "lua", parameters.tables, parameters.rows_per_table, f"{self.script} {hashed[:12]}"
            )
        return prepared.Prepared("oltp", parameters.tables, parameters.rows_per_table)

    def _make(self, session: Session, log: Path) -> float:
        began = time.monotonic()
        prepared.clear(session)
        if self.tables == "own" and _CLEANS_UP.search(self.text or ""):
            # Removes what it made before; it fails where there is nothing.
            run_load(session.stack, session.client, self._own_argv(session, "cleanup"), PREPARE_LIMIT_S, log, _ignore)
        errors = ErrorCount()

        def read(line: str) -> None:
            errors.feed(line)
            if line.startswith(("Creating", "Inserting")):
                session.on_event(Progress("prepare", f"{line.rstrip('.')} ({time.monotonic() - began:.0f} s)"))

        code = run_load(session.stack, session.client, self._prepare_argv(session), PREPARE_LIMIT_S, log, read)
        if code or errors.first_fatal:
            raise WorkloadError(f"data could not be prepared: {errors.first_fatal or f'sysbench exit code {code}'}")
        return round(time.monotonic() - began, 1)

    def _base_argv(self, session: Session, script: str, entry: EntryPoint) -> list[str]:
        parameters = session.parameters
        sizes = [f"--tables={parameters.tables}", f"--table-size={parameters.rows_per_table}"]
        return [
            *sysbench_argv(script, entry),
            *(sizes if self._is_sized else []),
            *(as_option(name, value) for name, value in self._script_options(script).items()),
        ]

    def _script_options(self, script: str) -> Mapping[str, OptionValue]:
        """The standard preparation takes no transaction options."""
        return {} if script == PREPARE_OLTP else self.script_options

    @property
    def _script(self) -> str:
        """Its name, or the path of the user's own script in the client node."""
        return self.script if self.text is None else f"{folder_of(self._files)}/{self.script}"

    def _load_script(self, distribution: str) -> str:
        """The script of a load, or its wrapper where sysbench itself cannot draw the keys."""
        wrapped = zipfian.around(self._script, distribution)
        return f"{folder_of(wrapped)}/{zipfian.SCRIPT}" if wrapped else self._script

    def _own_argv(self, session: Session, *command: str) -> list[str]:
        writer, threads = session.writer, session.parameters.threads
        return [*self._base_argv(session, self._script, writer), f"--threads={threads}", *command]

    def _prepare_argv(self, session: Session) -> list[str]:
        seed = f"--rand-seed={prepared.ROWS_SEED}"  # by default sysbench seeds with the time
        if self.tables != "oltp":
            return self._own_argv(session, seed, "prepare")
        threads, writer = min(session.parameters.tables, MOST_PREPARE_THREADS), session.writer
        argv = self._base_argv(session, PREPARE_OLTP, writer)
        return [*argv, f"--threads={threads}", seed, "prepare"]

    def _argv(self, session: Session, phase: Phase) -> list[str]:
        parameters, entry = session.parameters, session.entry
        argv = [
            *self._base_argv(session, self._load_script(parameters.distribution), entry),
            f"--threads={parameters.threads}",
            f"--time={phase_seconds(parameters, phase)}",
            "--events=0",
            "--report-interval=1",
            "--percentile=95",
            "--histogram",
            f"--rand-type={zipfian.rand_type(parameters.distribution)}",
            # The warm-up draws different rows, or the run would find exactly its own rows warm.
            f"--rand-seed={session.seed + (phase == 'warm-up')}",
        ]
        if parameters.rate_per_s is not None:
            argv.append(f"--rate={parameters.rate_per_s}")
        if entry.multiplexes or self.db_ps_mode == "disable":
            argv.append("--db-ps-mode=disable")
        if self.thread_init_timeout_s != INIT_TIMEOUT_S and _knows(session, _INIT_TIMEOUT):
            argv.append(f"{_INIT_TIMEOUT}={self.thread_init_timeout_s}")
        if any(server.topology == "gr" for server in session.servers):
            codes = ",".join(map(str, (*IGNORED_BY_DEFAULT, _ROLLED_BACK_BY_GROUP)))
            argv.append(f"--mysql-ignore-errors={codes}")
        return [*argv, "run"]


def script_of(name: str, text: str) -> Sysbench:
    """The user's own Lua script as a workload: its text shows what data it needs."""
    tables: Literal["oltp", "own", "none"] = "own" if _PREPARES.search(text) else "none"
    if _STANDARD_TABLES.search(text):
        tables = "oltp"
    return Sysbench(script=name, tables=tables, text=text)


def _ignore(line: str) -> None:
    """The line is in the log already."""


def _knows(session: Session, option: str) -> bool:
    """Whether the client node's sysbench has an option: 1.0 always gives its threads 30 s to connect."""
    known = option in session.stack.run(session.client, ["sysbench", "--help"]).stdout
    if not known:
        session.on_event(
            Progress("load", f"this sysbench has no {option}; it gives its threads {INIT_TIMEOUT_S} s to connect")
        )
    return known


class _Reader:
    """Follows a load line by line: reports each second, keeps what the metrics need."""

    def __init__(self, session: Session, phase: Phase) -> None:
        self._session = session
        self._phase = phase
        self._errors = ErrorCount()
        self._rest: list[str] = []
        self._tps: list[float] = []

    def read(self, line: str) -> None:
        self._errors.feed(line)
        second = parse_second(line, self._phase, self._errors.by_code.total())
        if second is None:
            self._rest.append(line)
            return
        self._tps.append(second.tps)
        self._session.on_event(second)

    def failure(self, code: int) -> str | None:
        """Why the load counts as failed; None when it does not."""
        if self._errors.first_fatal:
            return self._errors.first_fatal
        if code == TIMED_OUT:
            return f"sysbench was terminated: still running {OVERTIME_S} s after its time"
        if code or parse_summary(self._rest) is None:
            return f"sysbench exited with code {code} and printed no statement summary"
        return None

    def metrics(self) -> Metrics:
        """Metrics of the phase; without a summary, only the errors."""
        by_code = self._errors.counted()
        base = Metrics(
            errors=sum(by_code.values()),
            errors_by_code=by_code,
            tps_sd_1s=round(statistics.stdev(self._tps), 2) if len(self._tps) > 1 else None,
            points_1s=len(self._tps),
        )
        summary = parse_summary(self._rest)
        return base.model_copy(update=_figures(summary)) if summary else base


def _figures(summary: Summary) -> dict[str, float | int | None]:
    seconds = summary.total_s
    events = summary.transactions > 0
    return {
        "tps": round(summary.transactions / seconds, 2),
        "qps": round(summary.queries / seconds, 2),
        "reads_per_s": round(summary.reads / seconds, 2),
        "writes_per_s": round(summary.writes / seconds, 2),
        "latency_avg_ms": summary.latency_avg_ms if events else None,
        "latency_p50_ms": percentile(summary.buckets, 50),
        "latency_p95_ms": percentile(summary.buckets, 95),
        "latency_p99_ms": percentile(summary.buckets, 99),
        "latency_max_ms": summary.latency_max_ms if events else None,
        "latency_resolution_ms": HISTOGRAM_RESOLUTION_MS,
        "latency_precision_percent": HISTOGRAM_PRECISION_PERCENT,
        "transactions": summary.transactions,
        "queries": summary.queries,
        "measured_s": summary.total_s,
        "conflicts": summary.conflicts,
        "reconnects": summary.reconnects,
    }

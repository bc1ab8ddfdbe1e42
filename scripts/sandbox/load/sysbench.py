"""sysbench's OLTP scripts, run in the client node; a workload profile names the script."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal

import yaml
from pydantic import Field, ValidationInfo, field_validator, model_validator

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.core.plugin_options import OptionValue
from sandbox.load import common
from sandbox.load.common import prepared
from sandbox.load.common.in_client_conflicts import CONFLICTS
from sandbox.load.common.load_output import LoadOutput, SysbenchOutput
from sandbox.load.common.sysbench_load import (
    PREPARE_LIMIT_S,
    SysbenchLoad,
    as_option,
    sysbench_argv,
)
from sandbox.load.common.workload import (
    Parameters,
    PreparedData,
    Progress,
    Session,
    Workload,
)
from sandbox.record.record import PreparationRecord
from sandbox.stack.client_python import folder_of, run_load, ship
from sandbox.stack.protocol import EntryPoint

IGNORED_BY_DEFAULT = (1213, 1020, 1205)
"""Errors after which sysbench restarts the transaction by default."""
WRAPPER = "wrapped_load.lua"
MOST_PREPARE_THREADS = 8

_INIT_TIMEOUT = "--thread-init-timeout"
INIT_TIMEOUT_S = 30
"""sysbench's own default."""

PREPARE_OLTP = "prepare_oltp"
"""Our script in the client image: makes the same tables on every server, whatever its
auto-increment settings.
"""

_SHIPPED = yaml.safe_load(files(common).joinpath("sysbench.yaml").read_text(encoding="utf-8"))
STOCK_SCRIPTS = tuple(_SHIPPED["scripts"])
"""Scripts that sysbench 1.0 ships."""
SCRIPT_OPTIONS = dict(_SHIPPED["options"])
"""Transaction option of the scripts that include oltp_common → what it means."""

_SYSBENCH_RUN = "local sysbench_run = thread_run\n"
"""Before the script, for `members.lua`: a script with a loop of its own keeps it."""
_OWN_OPTIONS = ("data", "db_ps_mode", "thread_init_timeout_s", "tables_per_member")
_STANDARD_TABLES = re.compile(r"""require\s*\(?\s*["']oltp_common["']""")
_PREPARES = re.compile(r"\bfunction\s+(cmd_)?prepare\b|\bprepare\s*=")
_CLEANS_UP = re.compile(r"\bfunction\s+(cmd_)?cleanup\b|\bcleanup\s*=")
_SIZES = re.compile(r"\b(tables|table_size)\s*=")


class Sysbench(SysbenchLoad):
    """Options of a workload profile: which script, what its tables look like, and what a run leaves
    of the data.
    """

    commands: ClassVar[tuple[str, ...]] = ("prepare",)
    output: ClassVar[type[LoadOutput]] = SysbenchOutput
    script: str
    tables: Literal["oltp", "bulk_insert", "own", "none"] = "oltp"
    """``own``: the script's own `prepare` makes them."""
    data: Literal["kept", "consumed"] = Field(
        default="kept",
        description=(
            "kept, or consumed: a run changes it permanently, each phase starts from new data"
        ),
    )
    db_ps_mode: Literal["auto", "disable"] = Field(
        default="auto",
        description=(
            "auto, or disable: no prepared statements, which pin connections that a proxy shares"
        ),
    )
    thread_init_timeout_s: int = Field(
        default=INIT_TIMEOUT_S,
        ge=1,
        description="seconds for all threads to connect, where sysbench supports it (1.1)",
    )
    tables_per_member: bool = Field(
        default=False,
        description="with VIA=members: the connections to each member use tables of their own",
    )
    text: str | None = Field(default=None, exclude=True)
    """The script itself, where it is the user's own."""
    script_options: dict[str, OptionValue] = Field(default_factory=dict, exclude=True)
    """Further options of the script: ``range_size`` becomes ``--range-size``."""

    @model_validator(mode="after")
    def _there_is_one(self) -> "Sysbench":
        if self.text is None and self.script not in (*STOCK_SCRIPTS, PREPARE_OLTP):
            raise ValueError(
                f"sysbench has no script '{self.script}';"
                f" {did_you_mean(self.script, STOCK_SCRIPTS)}"
            )
        return self

    @field_validator("tables_per_member")
    @classmethod
    def _has_tables_to_share(cls, given: bool, info: ValidationInfo) -> bool:
        if given and info.data.get("tables") != "oltp":
            raise ValueError(
                "only a script of sysbench's OLTP tables draws the table of each statement"
            )
        return given

    @property
    def uses(self) -> frozenset[str]:
        """A script of the user's own has tables and rows only if it says so."""
        sized = {"tables", "rows_per_table"} if self._is_sized else set()
        return frozenset({"distribution", "rate_per_s"} | sized)

    @property
    def needs_members(self) -> bool:
        """Where each of them has tables of its own."""
        return self.tables_per_member

    @property
    def consumes_data(self) -> bool:
        """Whether a run consumes its data, as the profile says."""
        return self.data == "consumed"

    def options(self) -> dict[str, OptionValue]:
        """Includes the script's options."""
        options = super().options()
        # Shown only where not the default.
        usual = ("db_ps_mode", "thread_init_timeout_s", "tables_per_member")
        for name in usual:
            if options[name] == type(self).model_fields[name].default:
                del options[name]
        return {**options, **self.script_options}

    def with_options(self, given: Mapping[str, OptionValue]) -> Workload:
        """Other options go to the script: one of SCRIPT_OPTIONS, or any option for the user's own
        script.

        Raises SandboxError (exit 2).
        """
        own = {name: value for name, value in given.items() if name in _OWN_OPTIONS}
        others = {name.replace("-", "_"): value for name, value in given.items() if name not in own}
        for name in others:
            if self.text is None and name not in SCRIPT_OPTIONS:
                known = did_you_mean(name, [*_OWN_OPTIONS, *SCRIPT_OPTIONS])
                raise SandboxError(
                    f"OPTIONS: {self.script} has no option '{name}'", known, "try: make help"
                )
        changed = super().with_options(own)
        return changed.model_copy(update={"script_options": {**self.script_options, **others}})

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the user's own script first, and the one around it where there is one.

        Raises SandboxError (exit 2) for fewer tables than members that need one each.
        """
        members = len(session.entry.hosts)
        tables = session.parameters.tables
        if self.tables_per_member and tables < members:
            what = f"TABLES={tables} is too few for {members} members"
            step = f"try: make bench TABLES={members}"
            raise SandboxError(
                what, "with tables_per_member each of them has tables of its own", step
            )
        self.ship_scripts(session)
        return super().prepare(session, log)

    def ship_scripts(self, session: Session) -> None:
        """Writes what is not sysbench's own into the client node. Raises SandboxError (exit 4)."""
        if self.text is not None:
            ship(session.stack, session.client, self._files)
        if wrapped := self.wrapped(session):
            ship(session.stack, session.client, wrapped)

    def data_needed(self, parameters: Parameters) -> PreparedData | None:
        """Tables with as many rows as TABLES and ROWS say, where the script uses them."""
        if self.tables == "none":
            return None
        if self.tables == "bulk_insert":
            return PreparedData("bulk_insert", parameters.threads, 0)
        if self.tables == "oltp":
            return PreparedData("oltp", parameters.tables, parameters.rows_per_table)
        hashed = hashlib.sha256((self.text or "").encode()).hexdigest()
        return PreparedData(
            "lua", parameters.tables, parameters.rows_per_table, f"{self.script} {hashed[:12]}"
        )

    def make_data(self, session: Session, log: Path) -> None:
        """A script that cleans up removes what it made before; it fails where there is nothing."""
        if self.tables == "own" and _CLEANS_UP.search(self.text or ""):
            argv = self.prepare_argv(session, "cleanup")
            run_load(session.stack, session.client, argv, PREPARE_LIMIT_S, log, lambda _: None)
        super().make_data(session, log)

    def progress(self, line: str, seconds: float) -> str | None:
        """The table that is made, and the time so far."""
        return (
            f"{line.rstrip('.')} ({seconds:.0f} s)"
            if line.startswith(("Creating", "Inserting"))
            else None
        )

    def prepare_argv(self, session: Session, command: str) -> list[str]:
        """The script makes its own tables, ours the standard ones; by default sysbench seeds with
        the time.
        """
        parameters = session.parameters
        writer = session.writer
        if self.tables == "oltp":
            argv = self._argv(
                PREPARE_OLTP, writer, parameters, min(parameters.tables, MOST_PREPARE_THREADS)
            )
        else:
            argv = self._argv(self._path, writer, parameters, parameters.threads)
        return [*argv, f"--rand-seed={prepared.ROWS_SEED}", command]

    def load_argv(self, session: Session) -> list[str]:
        """The script, or its wrapper where there is one."""
        wrapped = self.wrapped(session)
        script = f"{folder_of(wrapped)}/{WRAPPER}" if wrapped else self._path
        return self._argv(script, session.entry, session.parameters, session.parameters.threads)

    def phase_options(self, session: Session, seed: int) -> list[str]:
        """How keys are drawn, and what the entry point and its servers need."""
        parameters = session.parameters
        # Where our script draws the keys, sysbench only supplies uniform numbers.
        drawn_by = "uniform" if parameters.distribution == "zipfian" else parameters.distribution
        options = [
            "--percentile=95",
            "--histogram",
            f"--rand-type={drawn_by}",
            f"--rand-seed={seed}",
        ]
        if parameters.rate_per_s is not None:
            options.append(f"--rate={parameters.rate_per_s}")
        if session.entry.multiplexes or self.db_ps_mode == "disable":
            options.append("--db-ps-mode=disable")
        if self.thread_init_timeout_s != INIT_TIMEOUT_S and _knows(session, _INIT_TIMEOUT):
            options.append(f"{_INIT_TIMEOUT}={self.thread_init_timeout_s}")
        if any(server.topology == "gr" for server in session.servers):
            codes = ",".join(map(str, dict.fromkeys((*IGNORED_BY_DEFAULT, *CONFLICTS))))
            options.append(f"--mysql-ignore-errors={codes}")
        return options

    @property
    def _is_sized(self) -> bool:
        return self.tables in ("oltp", "bulk_insert") or bool(_SIZES.search(self.text or ""))

    @property
    def _files(self) -> dict[str, str]:
        """The user's own script as a file of the client node."""
        return {self.script: self.text or ""}

    @property
    def _path(self) -> str:
        """The script's name, or the path of the user's own script in the client node."""
        return self.script if self.text is None else f"{folder_of(self._files)}/{self.script}"

    def wrapped(self, session: Session) -> Mapping[str, str]:
        """The script around it: sysbench 1.0 has no Zipf's distribution, and knows nothing of
        several members.
        """
        before = [_lua("zipfian")] if session.parameters.distribution == "zipfian" else []
        if session.entry.others:
            before.append(_SYSBENCH_RUN)
        return wrapper(self._path, before, self.lua_after(session))

    def lua_after(self, session: Session) -> list[str]:
        """The Lua that runs after the script, and can replace its functions."""
        after = ["member_tables"] if self.tables_per_member else []
        if session.entry.others:
            after += ["conflict_codes", "members"]
        return list(map(_lua, after))

    def _argv(
        self, script: str, entry: EntryPoint, parameters: Parameters, threads: int
    ) -> list[str]:
        sizes = [f"--tables={parameters.tables}", f"--table-size={parameters.rows_per_table}"]
        options = {} if script == PREPARE_OLTP else self.script_options
        return [
            *sysbench_argv(script, entry),
            *(sizes if self._is_sized else []),
            *(as_option(name, value) for name, value in options.items()),
            f"--threads={threads}",
        ]


def wrapper(script: str, before: Sequence[str], after: Sequence[str]) -> Mapping[str, str]:
    """Files (path → text) whose WRAPPER runs a script between others; none where there are no
    others.

    ``script``: a name that sysbench knows, or a path in the client node; the others are text.
    """
    if not (before or after):
        return {}
    call = "dofile" if script.endswith(".lua") else "require"
    return {WRAPPER: "".join([*before, f'{call}("{script}")\n', *after])}


def _lua(name: str) -> str:
    return files(common).joinpath(f"{name}.lua").read_text(encoding="utf-8")


def script_of(name: str, text: str) -> Sysbench:
    """The user's own Lua script as a workload: its text shows what data it needs."""
    tables: Literal["oltp", "own", "none"] = "own" if _PREPARES.search(text) else "none"
    if _STANDARD_TABLES.search(text):
        tables = "oltp"
    return Sysbench(script=name, tables=tables, text=text)


def _knows(session: Session, option: str) -> bool:
    """Whether the client node's sysbench has an option: 1.0 always gives its threads 30 s to
    connect.
    """
    known = option in session.stack.run(session.client, ["sysbench", "--help"]).stdout
    if not known:
        session.on_event(
            Progress(
                "load",
                f"this sysbench has no {option}; it gives its threads {INIT_TIMEOUT_S} s to"
                " connect",
            )
        )
    return known

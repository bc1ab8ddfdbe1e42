"""An upgrade check as its command carries it out: the files that were given, progress, the
answer.
"""

import gzip
import hashlib
import json
import sys
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sandbox.cli.common.measuring import EventLine
from sandbox.cli.common.showing import show_document
from sandbox.cli.console import ProgressDisplay
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.judge.upgrades import exit_code_of
from sandbox.load.common.workload import Progress
from sandbox.measure.execute import EXIT_CODES
from sandbox.profile.plan import Plan
from sandbox.profile.reader import load_library
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.report.charts.layout import RunData
from sandbox.report.render import json as json_of
from sandbox.report.upgrade import upgrade_document
from sandbox.stack.engine import Docker
from sandbox.stack.snapshots.background import measuring
from sandbox.upgrade.log_file import LogError, QueryLog, read_log
from sandbox.upgrade.option_file import options_in
from sandbox.upgrade.run import GivenFile, UpgradeQuestion
from sandbox.upgrade.runner import UpgradeRunner, plan_of_sides
from sandbox.upgrade.sides import EXAMPLE, sides_of

_FORMATS = "a slow log, a general log, or a file .sql, each also as .gz"


def question_of(
    log: str | None, old: str | None, new: str | None, dump: str | None, cnf: str | None
) -> UpgradeQuestion:
    """What is asked. Raises SandboxError (exit 2) for what is missing, or no such thing."""
    library = load_library()
    if not log:
        raise SandboxError("no LOG was given", f"it is {_FORMATS}", EXAMPLE)
    sides = sides_of(old, new, library)
    log_file = given_file(log, "LOG")
    dump_file = given_file(dump, "DUMP") if dump else None
    options_file = given_file(cnf, "CNF") if cnf else None
    family = library.components.get(sides.new.name).spec.family or "mysql"
    options = options_in(options_file.text, family) if options_file else []
    if options_file and not options:
        known = "the check is of the lines below [mysqld], or another group of the servers"
        raise SandboxError(f"CNF={cnf} has no option of a server", known, f"try: cat {cnf}")
    return UpgradeQuestion(
        sides, _log_of(log, log_file), log_file, dump_file, options_file, tuple(options)
    )


def given_file(path: str, variable: str) -> GivenFile:
    """A file with its text, unpacked where its name ends with .gz; what is no UTF-8 is taken for
    Latin-1. Raises SandboxError (exit 2) where it cannot be read.
    """
    place = Path(path).expanduser()
    step = f"try: ls -l {path}"
    if variable == "DUMP" and not place.name.endswith((".sql", ".sql.gz")):
        known = "a dump is a file .sql or .sql.gz, as mariadb-dump or mysqldump writes it"
        raise SandboxError(f"DUMP={path} is no dump", known, step)
    try:
        raw = place.read_bytes()
        plain = gzip.decompress(raw) if place.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as problem:
        raise SandboxError(f"{variable}={path} cannot be read", str(problem), step) from problem
    try:
        text = plain.decode("utf-8")
    except UnicodeDecodeError:
        text = plain.decode("latin-1")
    return GivenFile(place.name, text, hashlib.sha256(raw).hexdigest())


def _log_of(path: str, file: GivenFile) -> QueryLog:
    try:
        return read_log(file.text, file.name)
    except LogError as problem:
        what = f"LOG={path} is no log that can be run: {problem}"
        raise SandboxError(what, f"LOG is {_FORMATS}", EXAMPLE) from problem


def check_upgrade(question: UpgradeQuestion, as_json: bool, command: Sequence[str]) -> int:
    """Carries the check out and prints what came; returns the exit code.

    Raises SandboxError (exit 2, 4) before anything starts for servers that cannot be compared here.
    """
    docker = Docker()
    plan = plan_of_sides(question.sides, load_library(), docker)
    with (
        EventLine("upgrade-check") as line,
        measuring(lambda text: line(Progress("snapshot", text))),
    ):
        shows = partial(ProgressDisplay, "upgrade-check")
        runner = UpgradeRunner(RESULTS, command, line, shows, docker)
        record, result = _carried_out(runner, question, plan)
    folder = str(result.path.relative_to(RESULTS.parent))
    if record.status == "failed":
        # Of what was given: a dump with an error says nothing of the upgrade.
        what, _, known = (record.reason or "the check failed").partition(": ")
        raise SandboxError(what, known or "its record has more", f"try: ls {folder}/runs")
    run = RunData(record, files=result.raw_files(record))
    document = upgrade_document(run, command)
    if as_json:
        print(json.dumps({**json_of.data(document), "result": folder}, indent=2))
    else:
        files = f"{folder}/runs/{record.cell}.{record.block}"
        show_document(False, None, document, ["", files])
    sys.stdout.flush()
    return int(_exit_code(record))


def _carried_out(
    runner: UpgradeRunner, question: UpgradeQuestion, plan: Plan
) -> tuple[Record, ResultFolder]:
    """The record and its result. Raises SandboxError (exit 130) for Ctrl-C before it begins."""
    try:
        return runner.carry_out(question, plan)
    except SandboxError as error:
        if error.exit_code is not ExitCode.INTERRUPTED:
            raise
    known = "nothing was checked, and nothing of its stack is left"
    raise SandboxError("interrupted", known, EXAMPLE, ExitCode.INTERRUPTED)


def _exit_code(record: Record) -> ExitCode:
    if record.status == "ok":
        return exit_code_of(record.upgrade)
    return EXIT_CODES[record.status]

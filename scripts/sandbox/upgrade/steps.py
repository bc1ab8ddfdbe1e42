"""The steps of an upgrade check, from the dump to its record."""

import time

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.upgrades import answer_of, exit_code_of
from sandbox.load.common.workload import Progress
from sandbox.measure.counters import take_snapshots
from sandbox.measure.execute import Procedure
from sandbox.measure.run import RunEndedError
from sandbox.record.record import CheckRecord, Verdict
from sandbox.record.redaction import mask
from sandbox.record.upgrade import (
    ProbedTransaction,
    ReplicationRecord,
    UpgradeFinding,
    UpgradeRecord,
)
from sandbox.repro.sessions import Sessions
from sandbox.stack.protocol import StackNode
from sandbox.upgrade.data import collation_findings, data_findings
from sandbox.upgrade.defaults import changed_defaults, removed_variables
from sandbox.upgrade.findings import UpgradeEvidence, findings_of, unjudged_of
from sandbox.upgrade.option_file import option_findings
from sandbox.upgrade.pt_upgrade import read_report
from sandbox.upgrade.questions import Questions
from sandbox.upgrade.replay import last_read, slow_log_of
from sandbox.upgrade.replication import caught_up, replication_findings
from sandbox.upgrade.run import OF_SERVER, UpgradeRun, open_upgrade
from sandbox.upgrade.servers import BothServers
from sandbox.upgrade.toolkit import run_pt_upgrade
from sandbox.upgrade.transactions import MOST_PROBES, read_then_writes
from sandbox.upgrade.two_sessions import TwoSessions, probed_transaction

_FIRST_DUMP_ERRORS = 3
_DIES_S = 20.0
_LOOK_S = 0.5
_VERDICTS: dict[ExitCode, Verdict] = {
    ExitCode.OK: "pass",
    ExitCode.FAILED: "fail",
    ExitCode.UNKNOWN: "unknown",
}
_COLLATION = "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = %s"


def prepare(run: UpgradeRun) -> None:
    """What the servers are; the schemas that the log names, and the dump, on both.

    Raises RunEndedError where the older server refuses a statement of the dump.
    """
    run.before, _ = take_snapshots(run.stack, run.session.client, run.live_servers)
    before = set(_schemas(run))
    named = set(run.question.log.schemas) - set(OF_SERVER)
    run.schemas = sorted({*named, run.schema})
    _load_data(run)
    run.schemas = sorted({*run.schemas, *(set(_schemas(run)) - before)})


def _schemas(run: UpgradeRun) -> list[str]:
    question = "SELECT schema_name FROM information_schema.schemata"
    rows = run.servers.ask_one(run.servers.old, [question]).rows(0)
    return [str(row[0]) for row in rows if row[0] not in OF_SERVER]


def _load_data(run: UpgradeRun) -> None:
    """Empty schemas, then the dump where there is one."""
    servers = run.servers
    for schema in run.schemas:
        _make_schema(servers, schema)
    dump = run.question.dump
    if dump is None:
        return
    run.session.on_event(Progress("prepare", f"loading {dump.name} into both servers"))
    old_errors = servers.load(servers.old, dump.text, run.schema)
    if old_errors:
        first = "; ".join(old_errors[:_FIRST_DUMP_ERRORS])
        raise RunEndedError("failed", f"DUMP={dump.name} fails on {servers.old.name}: {first}")
    new_errors = servers.load(servers.new, dump.text, run.schema)
    if new_errors and not any(each.kind == "dump" for each in run.found):
        run.found += [
            UpgradeFinding(kind="dump", matters=True, on_from="taken", on_to=each, query=dump.name)
            for each in new_errors
        ]


def _make_schema(servers: BothServers, schema: str) -> None:
    """An empty schema on both. It has the older server's collation on the newer one too, as a
    schema has that was there before the upgrade.
    """
    drop = f"DROP DATABASE IF EXISTS `{schema}`"
    old = servers.ask_one(
        servers.old, [drop, f"CREATE DATABASE `{schema}`", (_COLLATION, (schema,))]
    )
    collation = f" COLLATE {old.rows(2)[0][0]}" if old.rows(2) else ""
    new = servers.ask_one(servers.new, [drop, f"CREATE DATABASE `{schema}`{collation}"])
    if new.error and collation:  # of another family, which does not know it
        new = servers.ask_one(servers.new, [drop, f"CREATE DATABASE `{schema}`"])
    error = old.error or new.error
    if error:
        raise RunEndedError("failed", f"the schema {schema} cannot be made: {error}")


def replay_log(run: UpgradeRun) -> None:
    """pt-upgrade over all statements, then the replica until it has applied them."""
    servers = run.servers
    text = slow_log_of(run.replay, int(run.started_utc.timestamp()))
    run.keep("replay", "replay.log").write_text(text, encoding="utf-8")
    count = len(run.replay.statements)
    run.session.on_event(Progress("pt-upgrade", f"{count} statements on both servers"))
    done = run_pt_upgrade(
        run.stack, servers.client, (servers.old, servers.new), text, run.schema, lambda _: None
    )
    run.keep("pt_upgrade", "pt-upgrade.txt").write_text(done.report, encoding="utf-8")
    run.keep("pt_upgrade_errors", "pt-upgrade.err").write_text(done.errors, encoding="utf-8")
    run.report = read_report(done.report)
    run.lost = done.lost
    run.troubles += done.troubles
    _look_for_crashes(run, last_read(text, run.report.statistics.get("queries_read", 0)))
    _follow(run)


def _look_for_crashes(run: UpgradeRun, last: int | None) -> None:
    """Raises RunEndedError where a server died: of the newer one that is the finding. ``last``:
    number of the statement that was run last.
    """
    servers = run.servers
    if why := _end_of(run, servers.old):
        raise RunEndedError("infra_error", f"{servers.old.name} ended under the log: {why}")
    why = _end_of(run, servers.new)
    if why is None:
        return
    run.found.append(
        UpgradeFinding(
            kind="crash", matters=True, on_from="runs", on_to=why,
            query=run.replay.by_number[last].text if last else None,
            note="the statement that was run last; why is in the server's log",
        )
    )  # fmt: skip
    judge(run)
    raise RunEndedError("ok", "the newer server ended under the log")


def _end_of(run: UpgradeRun, server: StackNode) -> str | None:
    """The state of a server that has ended, or no longer answers; None for one that does."""
    error = run.servers.ask_one(server, ["SELECT 1"]).error
    if error is None:
        return None
    end_s = time.monotonic() + _DIES_S
    # Its clients know before the engine does.
    while server.name not in run.stack.dead_nodes() and time.monotonic() < end_s:
        time.sleep(_LOOK_S)
    return run.stack.dead_nodes().get(server.name, error)


def _follow(run: UpgradeRun) -> None:
    if run.replica is None:
        run.replication = ReplicationRecord(
            replica=None, seen=run.question.sides.no_replica or "there is no replica"
        )
        return
    run.session.on_event(Progress("replication", "until the replica has applied everything"))
    run.replication = caught_up(run.servers, run.replica)
    run.found += replication_findings(run.servers, run.replica, run.replication, run.schemas)


def _evidence(run: UpgradeRun) -> UpgradeEvidence:
    found = run.answered
    return UpgradeEvidence(
        run.replay,
        run.report,
        found.refusals,
        found.plans,
        found.again,
        found.times_ms,
        run.lost,
    )


def ask_both(run: UpgradeRun) -> None:
    """Statements that one of them refuses, plans, rows and times once more; then all rows of both,
    which the log's writes have made.
    """
    servers = run.servers
    for table in servers.tables(servers.old, run.schemas):
        # Statistics of the same age on both; not in the binary log.
        name = f"`{table.schema}`.`{table.table}`"
        servers.ask([f"ANALYZE NO_WRITE_TO_BINLOG TABLE {name}"])
    distinct = run.replay.distinct.values()
    run.session.on_event(Progress("questions", f"{len(distinct)} distinct queries"))
    questions = Questions(servers, run.schema, run.answered)
    lines = questions.ask_each_query(distinct)
    run.keep("plans", "plans.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions.ask_rows_again(_evidence(run))
    on_old = servers.tables(servers.old, run.schemas)
    on_new = servers.tables(servers.new, run.schemas)
    run.found += collation_findings(on_old, on_new)
    old = servers.checksums(servers.old, on_old)
    new = servers.checksums(servers.new, on_new)
    run.found += data_findings(old, new, "data", "rows after the log's writes")


def probe(run: UpgradeRun) -> None:
    """Transactions that read, then write, each with a second session, on the data as it was before
    the log; and the times of queries.
    """
    two = TwoSessions(Sessions(run.stack, run.session.client), run.schema)
    run.closing.callback(two.close)
    questions = Questions(run.servers, run.schema, run.answered)
    questions.time_again(_evidence(run), two)
    every = read_then_writes(run.replay.statements)
    tried = every[:MOST_PROBES]
    if not tried:
        return
    if len(every) > len(tried):
        run.troubles.append(f"{len(every) - len(tried)} rarer kinds of transactions not tried")
    run.session.on_event(Progress("transactions", f"{len(tried)} that read, then write"))
    if run.question.dump is not None:
        _load_data(run)
    servers = run.servers
    for each in tried:
        old = two.probe(servers.old, each)
        new = two.probe(servers.new, each)
        run.transactions.append(probed_transaction(each, old, new))
    run.found += [_conflict(each) for each in run.transactions if each.fails_on_to]


def _conflict(probed: ProbedTransaction) -> UpgradeFinding:
    return UpgradeFinding(
        kind="conflict",
        matters=not probed.on_from.startswith("error 1020"),
        on_from=probed.on_from,
        on_to=probed.on_to,
        query="; ".join(probed.statements),
        count=probed.count,
        note=f"where another session did in between: {probed.other}",
    )


def check_options(run: UpgradeRun) -> None:
    """What both programs say of each line of the option file."""
    question = run.question
    if question.options_file is None:
        return
    servers = run.servers
    old = servers.options(servers.old, question.options)
    new = servers.options(servers.new, question.options)
    run.found += option_findings(question.options_file.name, question.options, old, new)


def judge(run: UpgradeRun) -> None:
    """Everything that was found, as it stands in the record."""
    question = run.question
    servers = run.servers
    evidence = _evidence(run)
    distinct = list(run.replay.distinct.values())
    old = servers.variables(servers.old)
    new = {} if any(each.kind == "crash" for each in run.found) else servers.variables(servers.new)
    names = [each.name for each in question.options]
    findings = [*findings_of(evidence), *run.found]
    versions = {name: state.version for name, state in run.before.items()}
    judged = UpgradeRecord(
        from_server=question.sides.old.text,
        to_server=question.sides.new.text,
        from_version=versions.get(servers.old.name),
        to_version=versions.get(servers.new.name),
        log=question.log_file.name,
        log_format=question.log.format,
        log_sha256=question.log_file.sha256,
        dump=question.dump.name if question.dump else None,
        dump_sha256=question.dump.sha256 if question.dump else None,
        configuration=question.options_file.name if question.options_file else None,
        statements=len(question.log.statements),
        distinct=len(distinct),
        left_out=run.replay.left_out,
        pt_upgrade=run.report.statistics,
        findings=sorted(findings, key=lambda each: not each.matters),
        unjudged=unjudged_of(evidence),
        defaults=changed_defaults(old, new, distinct) if new else [],
        removed=removed_variables(old, new, distinct, names) if new else [],
        transactions=run.transactions,
        replication=run.replication,
        troubles=run.troubles,
        seconds=round(time.monotonic() - run.began_s, 1),
    )
    run.judged = UpgradeRecord.model_validate_json(mask(judged.model_dump_json(), run.secrets))
    verdict = _VERDICTS[exit_code_of(run.judged)]
    detail = answer_of(run.judged)
    run.checks.append(CheckRecord(name="no_difference", verdict=verdict, detail=detail))


def keep_figures(run: UpgradeRun) -> list[str]:
    """What was found so far, of a check that was interrupted."""
    try:
        run.troubles.append("interrupted")
        judge(run)
    except (SandboxError, TimeoutError) as error:
        return [f"what was found is lost: {error}"]
    return []


def died(run: UpgradeRun) -> dict[str, str]:
    """Nodes that ended, where the check failed."""
    return dict(run.stack.dead_nodes()) if run.judged is None else {}


UPGRADE = Procedure(
    "upgrade",
    open_upgrade,
    {
        "prepare": prepare,
        "load": replay_log,
        "questions": ask_both,
        "transactions": probe,
        "options": check_options,
        "judge": judge,
    },
    died,
    keep_figures,
)

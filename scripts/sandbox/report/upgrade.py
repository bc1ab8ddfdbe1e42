"""PURE: what is said about an upgrade check: the differences that matter first, then the rest."""

from collections.abc import Sequence

from sandbox.core.errors import counted
from sandbox.judge.upgrades import WORDS, answer_of, deciding
from sandbox.record.upgrade import FindingKind, ProbedTransaction, UpgradeFinding, UpgradeRecord
from sandbox.report.charts.layout import RunData
from sandbox.report.document import (
    Column,
    Document,
    Fact,
    FactList,
    Medium,
    Notes,
    Part,
    Row,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.result import again_section, environment_rows, machine_section, node_rows
from sandbox.report.text import cut, make_command

_LONGEST_ON_TERMINAL = 160
_QUESTION = "What runs in another way after the upgrade?"
_LESSER: dict[FindingKind, str] = {
    "refused": "taken now",
    "error": "error gone",
    "warning": "warning",
    "time": "longer once",
    "plan": "another plan",
    "configuration": "option",
    "conflict": "error 1020 on both",
}
"""Kind of finding → what it is called where it does not decide."""
_PROBED = (
    "One session begins and reads, a second one changes the row and commits, the first one writes"
    " (each on the data as it was before the log)."
)
_RUN = (
    "All statements were run, writes too, in one session, transactions one after the other, at the"
    " times that the log says; the servers were made for this and removed."
)


def upgrade_document(run: RunData, command: Sequence[str] = (), when: str = "") -> Document:
    """An upgrade check. ``command``: as typed; ``when``: start and end, as text."""
    record = run.record
    upgrade = record.upgrade
    about = [
        Said(record.reason or "", Medium.EVERYWHERE, record.status),
        Said(when, Medium.PAGE, "faint"),
    ]
    if upgrade is None:
        return Document(
            Said(f"Upgrade check on {record.profile}"), [],
            status=Said(record.status, Medium.TERMINAL, record.status), about=about,
        )  # fmt: skip
    sections = [
        Section(_deciding_parts(upgrade)),
        Section(_further_parts(upgrade), "Worth a look", "look", "worth a look"),
        Section(_transaction_parts(upgrade), "Transactions that read, then write", "transactions"),
        Section(_default_parts(upgrade), "Defaults and variables", "defaults", "defaults"),
        Section([FactList(_facts(upgrade)), Said(_RUN, look="faint")], "What was run", "run"),
        Section([_files(run)], "Raw logs", "files", "raw logs", Medium.PAPER),
        machine_section(environment_rows([record]), node_rows(record, record.stack)),
        again_section("How to repeat it", [make_command(command)] if command else []),
    ]
    title = f"Upgrade of {upgrade.from_server} to {upgrade.to_server}"
    return Document(
        Said(title), sections, Said(_QUESTION, Medium.PAPER), Said(answer_of(upgrade)), about=about
    )


def _deciding_parts(upgrade: UpgradeRecord) -> list[Part]:
    found = deciding(upgrade)
    parts: list[Part] = [_notes(found), _table(upgrade, found, "Differences that matter")]
    if upgrade.unjudged:
        rows = [[each.query, str(each.count), each.why] for each in upgrade.unjudged]
        table = Table.of(("query", "statements", "why"), rows, "Not judged")
        parts.append(_on_paper(table))
    return parts


def _further_parts(upgrade: UpgradeRecord) -> list[Part]:
    found = [each for each in upgrade.findings if not each.matters]
    text = f"{counted(len(found), 'further difference')} in report.html and summary.md"
    said = Said(text if found else "", Medium.TERMINAL, "faint")
    return [said, _table(upgrade, found)]


def _notes(found: Sequence[UpgradeFinding]) -> Notes:
    """For a terminal, which has no room for a table of queries."""
    items = []
    for each in found:
        subject = cut(each.query or each.note or "", _LONGEST_ON_TERMINAL)
        times = f" (×{each.count})" if (each.count or 0) > 1 else ""
        change = f"{each.on_from} → {each.on_to}"
        text = f"{WORDS[each.kind]}{times}: {subject}: {cut(change, _LONGEST_ON_TERMINAL)}"
        items.append(Said(text))
    return Notes(items, medium=Medium.TERMINAL)


def _files(run: RunData) -> FactList:
    labels = {"pt_upgrade": "pt-upgrade's report", "replay": "what it was given", "plans": "plans"}
    facts = [
        Fact(labels.get(label, label), "", links={path.rpartition("/")[2]: path})
        for label, path in run.files.items()
        if label != "series"
    ]
    return FactList(facts)


def _table(upgrade: UpgradeRecord, found: Sequence[UpgradeFinding], title: str = "") -> Table:
    columns = [Column("difference"), Column("query", look="value"), Column("statements", True)]
    columns += [Column(name) for name in (*_servers(upgrade), "note")]
    rows = []
    for each in found:
        count = TableCell("" if each.count is None else str(each.count), each.count)
        word = WORDS[each.kind] if each.matters else _LESSER.get(each.kind, WORDS[each.kind])
        kind = TableCell(word, look="worse" if each.matters else "")
        cells: list[str | TableCell] = [
            kind,
            each.query or "",
            count,
            each.on_from,
            each.on_to,
            each.note or "",
        ]
        rows.append(Row.of(cells))
    return Table(columns, rows, title, medium=Medium.PAPER)


def _transaction_parts(upgrade: UpgradeRecord) -> list[Part]:
    if not upgrade.transactions:
        return [Said("The log has no transaction that reads, then writes.", Medium.PAPER)]
    headings = ("transaction", "the other session", "in the log", *_servers(upgrade))
    rows = [
        ["; ".join(each.statements), each.other, str(each.count), each.on_from, _outcome(each)]
        for each in upgrade.transactions
    ]
    tried = [each for each in upgrade.transactions if each.fails_on_to is not None]
    failing = sum(bool(each.fails_on_to) for each in upgrade.transactions)
    text = f"transactions that read, then write: {failing} of {len(tried)} end with error 1020"
    if not tried:
        text = "transactions that read, then write: none could be tried"
    table = _on_paper(Table.of(headings, rows, note=_PROBED))
    return [Said(text, Medium.TERMINAL), table]


def _outcome(probed: ProbedTransaction) -> str:
    return f"not tried: {probed.on_to}" if probed.fails_on_to is None else probed.on_to


def _default_parts(upgrade: UpgradeRecord) -> list[Part]:
    met = [each for each in upgrade.defaults if each.met]
    others = [each for each in upgrade.defaults if not each.met]
    parts: list[Part] = []
    rows = [
        [each.variable, each.on_from, each.on_to, each.met or "", each.meaning or ""]
        for each in met
    ]
    headings = ("variable", *_servers(upgrade), "met by", "what it means")
    parts.append(_on_paper(Table.of(headings, rows, "Changed defaults that the queries meet")))
    short = [f"{each.variable}: {each.on_from} → {each.on_to} ({each.met})" for each in met]
    parts.append(Notes([Said(cut(each, 200), Medium.TERMINAL) for each in short],
                       "changed defaults that the queries meet", Medium.TERMINAL))  # fmt: skip
    parts += _removed_parts(upgrade)
    rows = [[each.variable, each.on_from, each.on_to] for each in others]
    others_as = ("variable", *_servers(upgrade))
    table = Table.of(others_as, rows, "Further defaults that changed")
    return [*parts, _on_paper(table)]


def _removed_parts(upgrade: UpgradeRecord) -> list[Part]:
    named = [each for each in upgrade.removed if each.named_by]
    others = [each.variable for each in upgrade.removed if not each.named_by]
    items = [
        Said(f"{each.variable} is gone, and named by {each.named_by}"
             + (f"; instead: {each.instead}" if each.instead else ""))
        for each in named
    ]  # fmt: skip
    if others:
        text = f"{counted(len(others), 'further variable')} of the older server are gone"
        items.append(Said(text, Medium.TERMINAL, "faint"))
        items.append(Said(f"Variables that are gone: {', '.join(others)}", Medium.PAPER))
    return [Notes(items)]


def _facts(upgrade: UpgradeRecord) -> list[Fact]:
    left_out = [f"{count} {_short(why)}" for why, count in upgrade.left_out.items()]
    statistics = [f"{name} {count}" for name, count in upgrade.pt_upgrade.items()]
    replication = upgrade.replication
    found = [
        Fact("before", f"{upgrade.from_server}: {upgrade.from_version or 'unknown'}"),
        Fact("after", f"{upgrade.to_server}: {upgrade.to_version or 'unknown'}"),
        Fact("log", f"{upgrade.log} ({upgrade.log_format}, sha256 {upgrade.log_sha256[:12]})"),
        Fact("statements", f"{upgrade.statements}, of {upgrade.distinct} kinds"),
        Fact("left out", "; ".join(left_out) or "none"),
        Fact("data", _data(upgrade)),
        Fact("pt-upgrade", ", ".join(statistics) or "no statistics"),
    ]
    if upgrade.configuration:
        found.append(Fact("option file", upgrade.configuration))
    if replication is not None:
        found.append(Fact("replication", _replication(upgrade)))
    found += [Fact("trouble", each) for each in upgrade.troubles]
    return [*found, Fact("seconds", f"{upgrade.seconds:g}", upgrade.seconds)]


def _servers(upgrade: UpgradeRecord) -> tuple[str, str]:
    """Headings of what each of them says."""
    return upgrade.from_server, upgrade.to_server


def _short(why: str) -> str:
    return f"({why})"


def _data(upgrade: UpgradeRecord) -> str:
    if upgrade.dump is None:
        return "none (DUMP=)"
    return f"{upgrade.dump} (sha256 {(upgrade.dump_sha256 or '')[:12]})"


def _replication(upgrade: UpgradeRecord) -> str:
    found = upgrade.replication
    if found is None or found.replica is None:
        return f"not tried: {found.seen if found else 'no replica'}"
    if found.caught_up_s is None:
        return f"{found.replica}: {found.seen}"
    return f"{found.replica}: {found.seen}, {found.caught_up_s:g} s after the end of the load"


def _on_paper(table: Table) -> Table:
    return Table(table.columns, table.rows, table.title, table.note, Medium.PAPER)

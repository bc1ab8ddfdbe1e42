"""PURE: the answer of an upgrade check in one sentence, and its exit code."""

from collections import Counter
from collections.abc import Sequence

from sandbox.core.errors import ExitCode, counted
from sandbox.record.upgrade import FindingKind, UpgradeFinding, UpgradeRecord

WORDS: dict[FindingKind, str] = {
    "crash": "the newer server ends",
    "refused": "statement refused",
    "error": "error",
    "conflict": "error 1020",
    "rows": "other rows",
    "order": "another order of rows",
    "data": "other data afterwards",
    "replication": "replication",
    "dump": "dump refused",
    "configuration": "option refused",
    "warning": "new warning",
    "time": "slower",
    "plan": "worse plan",
    "collation": "other collation",
}
"""Kind of finding, the gravest first → what it is called."""


def deciding(upgrade: UpgradeRecord) -> list[UpgradeFinding]:
    """The differences that matter, the gravest first."""
    order = list(WORDS)
    found = [each for each in upgrade.findings if each.matters]
    return sorted(found, key=lambda each: order.index(each.kind))


def exit_code_of(upgrade: UpgradeRecord | None) -> ExitCode:
    """0: no difference that matters; 1: there are some; 3: nobody can say."""
    if upgrade is None:
        return ExitCode.UNKNOWN
    if deciding(upgrade):
        return ExitCode.FAILED
    return ExitCode.UNKNOWN if reasons_of_doubt(upgrade) else ExitCode.OK


def reasons_of_doubt(upgrade: UpgradeRecord) -> list[str]:
    """Why some of it could not be judged."""
    found = list(upgrade.troubles)
    number = sum(each.needs_data for each in upgrade.unjudged)
    if number:
        need = "needs" if number == 1 else "need"
        text = f"{_queries(number)} {need} tables that are not there"
        found.append(text if upgrade.dump else f"{text} (give DUMP=)")
    others = len(upgrade.unjudged) - number
    if others:
        found.append(f"{_queries(others)} of which pt-upgrade could not print what it found")
    untried = [each for each in upgrade.transactions if each.fails_on_to is None]
    if untried:
        text = f"{counted(len(untried), 'transaction')} could not be tried with a second session"
        found.append(text)
    return found


def answer_of(upgrade: UpgradeRecord) -> str:
    """The answer in one sentence."""
    found = deciding(upgrade)
    way = f"from {upgrade.from_server} to {upgrade.to_server}"
    doubt = reasons_of_doubt(upgrade)
    beyond = f"; not judged: {', '.join(doubt)}" if doubt else ""
    if found:
        number = len(found)
        verb = "matters" if number == 1 else "matter"
        return f"{counted(number, 'difference')} {verb} {way}: {_by_kind(found)}{beyond}."
    if doubt:
        return f"Nobody can say whether anything differs {way}: {', '.join(doubt)}."
    return (
        f"No difference that matters {way}, in {_queries(upgrade.distinct)} of"
        f" {counted(upgrade.statements, 'statement')}."
    )


def _by_kind(found: Sequence[UpgradeFinding]) -> str:
    counts = Counter(each.kind for each in found)
    return ", ".join(f"{word} ({counts[kind]})" for kind, word in WORDS.items() if counts[kind])


def _queries(number: int) -> str:
    return f"{number} distinct {'query' if number == 1 else 'queries'}"

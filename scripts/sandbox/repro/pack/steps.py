"""PURE: the steps of a repro, each a line of steps.sh."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from sandbox.repro.pack.hosts import Hosts
from sandbox.repro.pack.pattern import extended
from sandbox.repro.pack.quoting import length, row, word
from sandbox.repro.pack.refusal import UnsayableError
from sandbox.repro.step import USUAL_S, ReproStep
from sandbox.repro.steps.ends import EndsStep
from sandbox.repro.steps.restart import RestartStep
from sandbox.repro.steps.statement import ALL, StatementStep
from sandbox.repro.steps.until import UntilStep
from sandbox.repro.steps.wait import WaitStep
from sandbox.repro.wanted import Wanted

_BLOCKED_S = 0.5
WANTED = ("error", "warning", "rows", "unordered", "matches", "affected")
"""The keys that say what a statement comes to."""
_KEYS = {
    StatementStep: ("session", "sql", "within", "blocks", "prepared", *WANTED),
    EndsStep: ("session", "within", *WANTED),
    UntilStep: ("sql", "within", *WANTED),
    WaitStep: ("length_s",),
    RestartStep: ("target", "within"),
}
"""The keys that a line of steps.sh has words for: a newer one must not be left out unnoticed."""


@dataclass
class StepLines:
    """Writes the steps of a repro in their order."""

    hosts: Hosts
    opened: set[str] = field(default_factory=set)
    """The sessions so far."""

    def line(self, number: int, step: ReproStep) -> str:
        """A step in a line. Raises UnsayableError."""
        refuse_other_keys(step, _KEYS.get(type(step)))
        match step:
            case StatementStep():
                words = self._statement(number, step)
            case EndsStep():
                words = ["ends", str(number), step.session, *_named(step)]
                words += ["within", length(step.within or USUAL_S), *wanted_words(step)]
            case UntilStep():
                place = self.hosts.named(step.place)
                words = ["ask_until", str(number), place, length(step.within or USUAL_S)]
                words += [word(step.sql.strip()), *_named(step), *wanted_words(step)]
            case WaitStep():
                words = ["pause", str(number), length(step.length_s)]
            case RestartStep():
                words = ["restart", str(number), self._restarted(step), length(step.within)]
            case _:
                raise UnsayableError(step.not_in_pack or f"a pack has no step '{word_of(step)}'")
        if step.name and words[0] in ("pause", "restart"):
            raise UnsayableError("it has no result that an expectation could look at")
        return " ".join(words)

    def _statement(self, number: int, step: StatementStep) -> list[str]:
        words = [word(_sql(step)), *_named(step)]
        if step.blocks is not None:
            words += ["waits", length(_BLOCKED_S if step.blocks is True else step.blocks)]
        elif step.within is not None:
            words += ["within", length(step.within)]
        words += wanted_words(step)
        if step.session == ALL:
            return ["all", str(number), *words]
        session = step.session
        if step.place or session not in self.opened:
            session = f"{session}@{self.hosts.named(step.place)}"
        self.opened.add(step.session)
        return ["sql", str(number), session, *words]

    def _restarted(self, step: RestartStep) -> str:
        hosts = self.hosts
        node = next((each for each in hosts.plan.databases if each.name == step.target), None)
        if node is None:
            known = ", ".join(hosts.names)
            raise UnsayableError(f"{step.target} is not the name of a server ({known})")
        if hosts.kind(node) != "replication":
            raise UnsayableError("who starts a member of a cluster again must know the others")
        return node.name


def word_of(step: ReproStep) -> str:
    """The word that a step begins with in its file."""
    return step.head.partition(" ")[0]


def refuse_other_keys(part: BaseModel, known: Sequence[str] | None) -> None:
    """Raises UnsayableError for a key of a step or an expectation that a pack has no words for."""
    if known is None:
        return
    others = part.model_fields_set - {*known, "place", "name"}
    given = [key for key in sorted(others) if getattr(part, key)]
    if given:
        raise UnsayableError(f"a pack has no words for '{given[0]}'")


def wanted_words(wanted: Wanted) -> list[str]:
    """What a statement must come to, as words; none: no error. Raises UnsayableError."""
    if wanted.error is not None:
        codes = wanted.error if isinstance(wanted.error, str) else _codes(wanted.error)
        return ["error", word(codes)]
    words = []
    if wanted.affected is not None:
        words += ["affected", str(wanted.affected)]
    if wanted.warning is not None:
        words += ["warning", word(_codes(wanted.warning))]
    if wanted.matches is not None:
        words += ["matches", word(extended(wanted.matches))]
    if wanted.rows is not None:
        words.append("rows_in_any_order" if wanted.unordered else "rows")
        words += [word(row(each)) for each in wanted.rows]
    return words


def _codes(codes: list[int]) -> str:
    return " ".join(map(str, codes))


def _named(step: ReproStep) -> list[str]:
    return ["as", word(step.name)] if step.name else []


def _sql(step: StatementStep) -> str:
    sql = step.sql.strip()
    if not step.prepared:
        return sql
    quoted = sql.replace("\\", "\\\\").replace("'", "\\'")
    return f"prepare repro from '{quoted}'; execute repro"

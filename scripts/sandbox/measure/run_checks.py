"""Verdicts on a run: did the load reach the servers, did all nodes survive, are the matrix's
conditions met. Pure.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sandbox.core.errors import counted, states
from sandbox.judge.variants import not_in_effect, refusal
from sandbox.profile.grammar import split_assignments
from sandbox.profile.images import Text
from sandbox.record.record import Absence, CheckRecord, Metrics, Status
from sandbox.stack.protocol import SettingProof

CONDITION = "condition"
"""Prefix of the name of a condition's check in the record."""
REACHED_SHARE = 0.98
"""Share of the load's statements that the servers must have counted; a proxy may answer a few on
its own.
"""
ALONE_SHARE = 1.1
"""Above this multiple of the load's statements, other clients were active too."""
QUESTIONS_PER_S = 20
"""Statements per second and server that readiness questions, proxies and our own sampler may
send.
"""
SAMPLED_SHARE = 0.9
ANSWERING_SHARE = 0.01
"""Below this share of the load's statements, a server did not take part in answering it."""


def level_name(value: Any) -> str:
    """The level as typed: YAML reads on, off, yes and no as booleans."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def levels_by_factor(given: Any) -> Any:
    """Both ``{threads: 64}`` and ``{threads: [64, 256]}`` as lists of names."""
    if not isinstance(given, Mapping):
        return given
    return {
        str(factor): [
            level_name(each) for each in (levels if isinstance(levels, list) else [levels])
        ]
        for factor, levels in given.items()
    }


LevelsByFactor = Annotated[dict[str, list[str]], BeforeValidator(levels_by_factor)]


class OfCells(BaseModel):
    """Some cells of a matrix: ``where``, their levels by factor; a factor that is not named does
    not matter.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    where: LevelsByFactor = Field(default_factory=dict)

    def holds_for(self, levels: Mapping[str, str]) -> bool:
        """Whether a cell with these levels is one of them."""
        return all(levels.get(factor) in wanted for factor, wanted in self.where.items())


class Condition(OfCells):
    """A status variable, summed over the servers that the load reaches, and its bound, which those
    cells must meet.
    """

    status: Text
    take: Literal["median", "highest", "increase"] = "median"
    """Of the one-second samples: their median, the highest, or the last minus the first."""
    at_most: float | None = None
    below_share_of_threads: float | None = Field(default=None, gt=0)
    """0.5: less than half the load's threads."""
    because: str
    """Meaning of a condition that is not met: the reason in the record."""

    @model_validator(mode="after")
    def _one_bound(self) -> "Condition":
        if (self.at_most is None) == (self.below_share_of_threads is None):
            raise ValueError("a condition has one bound: at_most, or below_share_of_threads")
        return self

    def met_by(self, value: float, threads: int) -> bool:
        """Whether the value of a run with this many threads is within the bound."""
        if self.at_most is not None:
            return value <= self.at_most
        return value < self._share * threads

    def bound(self, threads: int) -> str:
        """The bound in words."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return (
            f"less than {self._share * threads:g}, {self._share:g} times the {threads} threads of"
            " the load"
        )

    @property
    def _share(self) -> float:
        return self.below_share_of_threads or 0.0


def settings_in_effect(proofs: Sequence[SettingProof]) -> CheckRecord:
    """Whether every setting was confirmed by every server it applies to."""
    wrong = [proof for proof in proofs if not proof.in_effect]
    if not proofs:
        return _check("settings_in_effect", "skipped", "the profile has no setting")
    if not wrong:
        return _check("settings_in_effect", "pass", f"{counted(len(proofs), 'proof')} passed")
    texts = [
        f"{each.setting} on {each.node}: expected {each.expected!r}, got {each.answer!r}"
        for each in wrong
    ]
    return _check("settings_in_effect", "fail", "; ".join(texts))


def set_in_effect(
    assignments: Sequence[str], servers: Mapping[str, Mapping[str, str]]
) -> CheckRecord:
    """Whether every server has the values of SET=. ``servers``: its variables, read back."""
    wrong = not_in_effect(split_assignments(tuple(assignments)), servers)
    if wrong:
        return _check("set_in_effect", "fail", "; ".join(map(refusal, wrong)))
    names = ", ".join(servers)
    return _check("set_in_effect", "pass", f"read back from {names}: {' '.join(assignments)}")


def load_reached(
    metrics: Metrics,
    failure: str | None,
    answered: Mapping[str, int],
    aborted: int = 0,
    uncounted_at: Sequence[str] = (),
) -> CheckRecord:
    """Whether the servers counted what the load says it sent.

    ``uncounted_at``: servers whose counters do not cover the load, since they were away.
    ``aborted``: transactions of clients that write sets from other members ended. A server answers
    the next statement of each with error 1213 before it counts it (do_command of MariaDB's
    sql_parse.cc).
    """
    name = "load_reached_server"
    counted = sum(answered.values())
    if metrics.queries is None:
        return _uncounted(name, failure)
    text = f"the load sent {metrics.queries} statements, the servers counted {counted}"
    if not metrics.queries or not metrics.transactions:
        return _check(name, "fail", f"the load completed no transaction; {text}")
    uncounted = min(aborted, metrics.conflicts or 0)
    if uncounted:
        text += f" and aborted {uncounted} transactions, whose next statements they do not count"
    if counted + uncounted >= REACHED_SHARE * metrics.queries:
        return _check(name, "pass", text)
    if uncounted_at:
        return _check(name, "unknown", f"{text}, without {', '.join(uncounted_at)}, which was away")
    return _check(name, "fail", text)


def members_loaded(
    absences: Sequence[Absence], members: int, seconds: Sequence[tuple[int, float]]
) -> CheckRecord:
    """Whether every member took its share of the load from start to end.

    ``seconds``: (number of a second of the load, its tps): those in which a member was away show
    what the others did.
    """
    name = "members_loaded"
    if not absences:
        return _check(name, "pass", f"all {members} members took their share from start to end")
    texts = [_absence(each) for each in absences]
    whole = [tps for second, tps in seconds if not _is_away(absences, second)]
    part = [tps for second, tps in seconds if _is_away(absences, second)]
    rates = [
        f"{statistics.fmean(each):,.1f} tps {when} ({counted(len(each), 'second')})"
        for each, when in ((whole, f"with all {members} members"), (part, "with fewer"))
        if each
    ]
    verdict = "unknown" if all(each.on_purpose for each in absences) else "fail"
    return _check(name, verdict, f"{'; '.join(texts)}: {', '.join(rates) or 'no second of load'}")


def _absence(absence: Absence) -> str:
    end = "to the end" if absence.until_s is None else f"to {absence.until_s:.1f} s"
    why = (
        "stopped or broken on purpose" if absence.on_purpose else "nobody had stopped or broken it"
    )
    return (
        f"{absence.member} took no load from {absence.from_s:.1f} s {end} ({why}; {absence.error})"
    )


def _is_away(absences: Sequence[Absence], second: int) -> bool:
    """Whether a member was away in any part of a second; second 1 ends at 1 s."""
    return any(
        each.from_s < second and (each.until_s is None or each.until_s > second - 1)
        for each in absences
    )


def answering(metrics: Metrics, answered: Mapping[str, int]) -> dict[str, int] | None:
    """The servers that answered the load, with their counts; None for a load that counts no
    statements.

    The busiest is always one of them; another only when readiness questions cannot explain its
    count.
    """
    if not metrics.queries:
        return None
    least = max(ANSWERING_SHARE * metrics.queries, QUESTIONS_PER_S * (metrics.measured_s or 0))
    busiest = max(answered.values(), default=0)
    return {name: count for name, count in answered.items() if count >= min(least, busiest)}


def load_alone(metrics: Metrics, failure: str | None, answered: Mapping[str, int]) -> CheckRecord:
    """Whether this was the only load on the servers."""
    name = "load_alone"
    counted = sum(answered.values())
    if metrics.queries is None or metrics.measured_s is None:
        return _uncounted(name, failure)
    # COM_QUIT counts as a statement, and a proxy sends the server a statement of its own for each
    # client.
    sent = metrics.queries + 2 * (metrics.connections or 0)
    allowed = ALONE_SHARE * sent + QUESTIONS_PER_S * len(answered) * metrics.measured_s
    text = f"the servers counted {counted} statements for the {metrics.queries} of the load"
    return _check(name, "pass" if counted <= allowed else "unknown", text)


def nodes_alive(down_at_start: Mapping[str, str], died: Mapping[str, str]) -> CheckRecord:
    """Whether every node ran from start to end; ``died``: nodes that ran at the start but not at
    the end.
    """
    if died:
        return _check("nodes_alive", "fail", "died during the run: " + states(died))
    if down_at_start:
        return _check(
            "nodes_alive", "unknown", "not running at the start: " + states(down_at_start)
        )
    return _check("nodes_alive", "pass", "every node ran from start to end")


def servers_sampled(sampled: Mapping[str, int], expected: Mapping[str, int]) -> CheckRecord:
    """Whether the one-second samples are complete; ``expected``: samples requested, by server."""
    short = {
        name: f"{sampled.get(name, 0)} of {count} samples"
        for name, count in expected.items()
        if not count or sampled.get(name, 0) < SAMPLED_SHARE * count
    }
    if short or not expected:
        return _check("servers_sampled", "unknown", states(short) or "no server to sample")
    return _check(
        "servers_sampled",
        "pass",
        f"{counted(sum(sampled.values()), 'sample')} of {counted(len(expected), 'server')}",
    )


def condition_met(
    condition: Condition,
    threads: int,
    samples: Mapping[str, Sequence[float]],
    servers: Sequence[str],
) -> CheckRecord:
    """Whether a condition of the matrix was met; ``samples`` of its status variable, by server. No
    sample: not met.
    """
    name = f"{CONDITION}_{condition.status}"
    missing = [server for server in servers if not samples.get(server)]
    if missing or not servers:
        return _check(
            name,
            "fail",
            f"{condition.because}: no sample of {', '.join(missing) or 'any server'} has it",
        )
    value = sum(_TAKES[condition.take](samples[server]) for server in servers)
    text = f"{condition.status} is {value:g} ({condition.take}), must be {condition.bound(threads)}"
    if condition.met_by(value, threads):
        return _check(name, "pass", text)
    return _check(name, "fail", f"{condition.because}: {text}")


_TAKES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "highest": max,
    "increase": lambda samples: samples[-1] - samples[0],
}


def verdict(failure: str | None, checks: Sequence[CheckRecord]) -> tuple[Status, str | None]:
    """Status and reason of a completed run; a node's death explains everything that followed from
    it.
    """
    failed = {check.name: check.detail for check in checks if check.verdict == "fail"}
    if "nodes_alive" in failed:
        return "infra_error", failed["nodes_alive"]
    if failure:
        return "failed", failure
    unmet = {name: detail for name, detail in failed.items() if name.startswith(CONDITION)}
    if len(unmet) < len(failed):
        return "failed", "; ".join(f"{name}: {detail}" for name, detail in failed.items())
    if unmet:
        return "infra_error", "; ".join(unmet.values())
    return "ok", None


def _uncounted(name: str, failure: str | None) -> CheckRecord:
    if failure:
        return _check(name, "unknown", "the load ended without figures")
    return _check(name, "skipped", "this workload counts no statements")


def _check(name: str, outcome: str, detail: str) -> CheckRecord:
    return CheckRecord.model_validate({"name": name, "verdict": outcome, "detail": detail})

"""A load on every member of a cluster of which some leave: whether on purpose, and what its figures are then."""

import re
from collections.abc import Iterable
from dataclasses import replace

from sandbox.results.record import Absence, CheckRecord, Metrics
from sandbox.run.interrupted import metrics_of
from sandbox.run.judge import members_loaded as judged
from sandbox.run.state import Run
from sandbox.stack.journal import breakages
from sandbox.workloads.common.model import Event, MemberChange, Session

_SHUT_DOWN = re.compile(r"normal shutdown|received shutdown from user", re.IGNORECASE)
"""A server that was asked to end says so in its log: MariaDB, MySQL."""


def noting_losses(run: Run) -> Session:
    """The run's session, which notes what is broken on purpose when the load loses a member: a heal may come soon."""
    if not run.session.entry.others:
        return run.session
    run.starts = dict(run.stack.starts())

    def note(event: Event) -> None:
        if isinstance(event, MemberChange) and event.is_lost:
            run.broken |= {each.node for each in breakages(run.stack.project)}
        run.session.on_event(event)

    return replace(run.session, on_event=note)


def note_absences(run: Run, absences: Iterable[Absence]) -> None:
    """Adds the absences to the run, each with whether somebody had stopped or broken the member."""
    found = list(absences)
    if not found:
        return
    started, broken = run.stack.starts(), {each.node for each in breakages(run.stack.project)}
    purposely = run.broken | broken
    purposely |= {name for name, when in started.items() if run.starts.get(name, when) != when}
    for each in found:
        is_meant = each.member in purposely or _was_shut_down(run, each.member)
        run.absences.append(each.model_copy(update={"on_purpose": is_meant}))


def _was_shut_down(run: Run, member: str) -> bool:
    return bool(_SHUT_DOWN.search(run.stack.log(member, run.started_utc)))


def expected_away(run: Run) -> set[str]:
    """Members that were away on purpose."""
    return {each.member for each in run.absences if each.on_purpose}


def members_loaded(run: Run) -> list[CheckRecord]:
    """The verdict on whether all members took part; none of a load with one entry point."""
    members = len(run.session.entry.hosts)
    if members == 1:
        return []
    seconds = [(each.second, each.tps) for each in run.series if each.phase == "measure"]
    return [judged(run.absences, members, seconds)]


def so_far(run: Run, metrics: Metrics, failure: str) -> tuple[Metrics, str]:
    """The figures of a load on all members up to its end by an error, and what it failed for."""
    measured = [second for second in run.series if second.phase == "measure"]
    if not measured:
        return metrics, failure
    kept = metrics_of(measured).model_copy(update={"errors": metrics.errors, "errors_by_code": metrics.errors_by_code})
    return kept, f"{failure}; the figures are those of its first {len(measured)} s"

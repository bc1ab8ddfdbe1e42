"""A trial repeated on one stack, which is reset in between: a record for each, until enough are
made or what was waited for has come.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.judge.rates import FAILED_CHECK, LOG, LOST_MEMBER, came
from sandbox.load.common.workload import Event, Progress
from sandbox.measure.execute import execute, new_result, now
from sandbox.measure.run import LARGEST_SEED, RunPlace, open_stack
from sandbox.measure.trial.check import CHECKS
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.trial import TRIAL, exit_code
from sandbox.record.manifest import EndOfRepeats, RepeatsPart
from sandbox.record.record import Record
from sandbox.record.redaction import mask
from sandbox.record.store import ResultFolder
from sandbox.stack.protocol import RunningStack

Reset = Callable[[RunningStack], RunningStack]
"""Makes a stack ready for the next trial; returns it as it is then. SandboxError (exit 4)."""
End = tuple[EndOfRepeats, str | None]
"""How a series ended, and why there are fewer trials than asked for."""
_EXAMPLE = "try: make trial FAULT=server-crash REPEAT=12 UNTIL='log:Inconsistency detected'"
_SEED_STEP = 7919
"""A prime, as between the blocks of a matrix."""
_HOPELESS = ("failed", "skipped")
"""Status of a first trial after which the others would end alike."""
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a trial is made, what ends that early, how the stack is reset in between."""

    count: int
    until: str | None = None
    fresh: bool = False

    @property
    def pattern(self) -> str | None:
        """The pattern that is looked for in the servers' logs, if any."""
        if self.until is None or not self.until.startswith(LOG):
            return None
        return self.until.removeprefix(LOG)


def repeats_asked(
    count: int | None, until: str | None, fresh: bool, request: TrialRequest
) -> Repeats | None:
    """The series that was asked for; None: one trial.

    Raises SandboxError (exit 2) for UNTIL= or FRESH=1 without REPEAT=, for an UNTIL= that nothing
    can meet, and for a schedule that a healed stack cannot repeat.
    """
    if count is None:
        if until is not None or fresh:
            what = f"{'UNTIL=' if until is not None else 'FRESH=1'} needs REPEAT="
            raise SandboxError(what, "it is about repeated trials", _EXAMPLE)
        return None
    _refuse_endless_upgrade(count, fresh, request)
    return Repeats(count, None if until is None else _until(until, request), fresh)


def _refuse_endless_upgrade(count: int, fresh: bool, request: TrialRequest) -> None:
    upgrades = [step.action for step in request.schedule.steps if step.action == "rolling-upgrade"]
    if upgrades and count > 1 and not fresh:
        what = "rolling-upgrade cannot be repeated on one stack"
        known = "after the first trial its servers have the new version"
        step = "try: make trial FAULT=rolling-upgrade OPTIONS=to=<version> REPEAT=12 FRESH=1"
        raise SandboxError(what, known, step)


def _until(typed: str, request: TrialRequest) -> str:
    """What ends the series, as records have it."""
    if typed.startswith(LOG):
        _refuse_pattern(typed.removeprefix(LOG))
        return typed
    checks = [*CHECKS.names(), *request.workload.workload.verdicts_of_ledger]
    known = {each.replace("_", "-"): each for each in checks}
    known |= {LOST_MEMBER: LOST_MEMBER, FAILED_CHECK: FAILED_CHECK}
    found = known.get(typed.replace("_", "-"))
    if found is None:
        words = [LOST_MEMBER, FAILED_CHECK, *checks]
        near = did_you_mean(typed, [*words, f"{LOG}<pattern>"])
        raise SandboxError(f"UNTIL={typed} is nothing that a trial can end with", near, _EXAMPLE)
    return found


def _refuse_pattern(pattern: str) -> None:
    what = f"UNTIL={LOG}{pattern} is not valid"
    if not pattern:
        raise SandboxError(what, "a pattern follows the colon", _EXAMPLE)
    try:
        re.compile(pattern)
    except re.error as error:
        known = f"the pattern is no regular expression: {error}"
        raise SandboxError(what, known, _EXAMPLE) from error


def repeat_trial(
    stack: RunningStack,
    request: TrialRequest,
    repeats: Repeats,
    reset: Reset,
    results: Path,
    on_event: Callable[[Event], None],
) -> ResultFolder:
    """The result with a record for each trial, ``runs/trial.1`` onwards.

    What ends it early is in its manifest: what was waited for, Ctrl-C, a stack that cannot be
    reset, a first trial that cannot be carried out. The stack is then as the last trial left it.
    Raises SandboxError, before it writes anything, for a request that cannot be met.
    """
    opening = open_stack(stack, request, on_event)
    part = RepeatsPart(count=repeats.count, fresh=repeats.fresh, until=repeats.until)
    result = new_result(TRIAL, opening, results, repeats=part)
    series = _Repeater(repeats, opening.request, reset, result, on_event)
    try:
        end, reason = series.run(stack)
        result.note_repeats(part.model_copy(update={"end": end, "reason": reason}))
    finally:
        result.finish(now())
    return result


class _Repeater:
    """Repeated trials under way."""

    def __init__(
        self,
        repeats: Repeats,
        request: TrialRequest,
        reset: Reset,
        result: ResultFolder,
        on_event: Callable[[Event], None],
    ) -> None:
        self.repeats = repeats
        self.request = request
        self.reset = reset
        self.result = result
        self.on_event = on_event

    def run(self, stack: RunningStack) -> End:
        """Every trial; how that ended."""
        for number in range(1, self.repeats.count + 1):
            self.on_event(Progress("repeat", f"trial {number} of {self.repeats.count}"))
            try:
                if number > 1 or self.repeats.fresh:
                    stack = self.reset(stack)
                record = self._trial(stack, number)
            except KeyboardInterrupt:
                return "interrupted", f"interrupted before trial {number}"
            except SandboxError as error:
                return _end_without_trial(number, error)
            if (end := self._end_with(record)) is not None:
                return end
        return "complete", None

    def _trial(self, stack: RunningStack, number: int) -> Record:
        seed = seed_of(self.request.seed or 1, number)
        opening = open_stack(stack, replace(self.request, seed=seed), self.on_event)
        run = TRIAL.begin(opening, RunPlace(self.result, TRIAL.kind, number, now()))
        record = execute(run, TRIAL, self.result)
        if record.status == "interrupted":
            return record
        seen = looked_at(record, stack, self.repeats.pattern)
        self.result.save(seen, stack.secrets())
        return seen

    def _end_with(self, record: Record) -> End | None:
        """How the series ends with this trial; None: it does not."""
        until = self.repeats.until
        if record.status == "interrupted":
            return "interrupted", f"interrupted in trial {record.block}"
        if until is not None and came(record, until):
            return "came", f"{until} came in trial {record.block}"
        if record.block == 1 and record.status in _HOPELESS:
            return "not possible", f"the first trial was {record.status}: {record.reason}"
        return None


def _end_without_trial(number: int, error: SandboxError) -> End:
    """How the series ends where the stack is not ready for a trial. Raises what is a mistake."""
    if error.exit_code is ExitCode.INTERRUPTED:
        return "interrupted", f"interrupted before trial {number}"
    if error.exit_code is ExitCode.ENVIRONMENT:
        return "no stack", f"no trial {number}: {error.what}: {error.known}"
    raise error


def seed_of(first: int, number: int) -> int:
    """The seed of a trial: that of the first one as given, another one for each after it."""
    return (first - 1 + _SEED_STEP * (number - 1)) % LARGEST_SEED + 1


def looked_at(record: Record, stack: RunningStack, pattern: str | None) -> Record:
    """The record with the servers that are lost now, and the lines of their logs with a pattern.

    Nothing is added to a trial whose prober did not start, or where the stack does not answer.
    """
    if record.trial is None:
        return record
    try:
        secrets = stack.secrets()
        states = stack.server_states()
        lines = {} if pattern is None else {pattern: _lines_with(pattern, record, stack, secrets)}
    except (SandboxError, TimeoutError):
        return record
    lost = {node: mask(state.text, secrets) for node, state in states.items() if state.is_lost}
    trial = record.trial.model_copy(update={"lost_members": lost, "log_lines": lines})
    return record.model_copy(update={"trial": trial})


def _lines_with(
    pattern: str, record: Record, stack: RunningStack, secrets: frozenset[str]
) -> dict[str, str]:
    """The first line with it in the log of each server since the trial began."""
    found = {}
    for server in stack.nodes():
        if not (server.is_server and server.has_container):
            continue
        log = stack.log(server.name, record.started_utc)
        line = next((each for each in log.splitlines() if re.search(pattern, each)), None)
        if line is not None:
            found[server.name] = mask(line, secrets)[:_LONGEST_LINE]
    return found


def series_exit_code(records: Sequence[Record], part: RepeatsPart) -> ExitCode:
    """1 where any check failed, or what was waited for came; 130 and 4 where that ended it."""
    if part.end == "interrupted":
        return ExitCode.INTERRUPTED
    codes = {exit_code(record) for record in records}
    found_wrong = any(came(record, FAILED_CHECK) for record in records)
    if part.end == "came" or found_wrong or ExitCode.FAILED in codes:
        return ExitCode.FAILED
    if part.end == "complete" and ExitCode.OK in codes:
        return ExitCode.OK
    return ExitCode.UNKNOWN if codes == {ExitCode.UNKNOWN} else ExitCode.ENVIRONMENT

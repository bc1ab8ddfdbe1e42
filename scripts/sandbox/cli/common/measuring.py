"""One bench or trial: the load and the scenario asked for, its progress, what is printed of it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandbox.cli.common.running import quiet_stack
from sandbox.cli.common.showing import show_document
from sandbox.cli.console import LiveLine, ProgressDisplay, second_text
from sandbox.core.errors import SandboxError
from sandbox.core.paths import RESULTS
from sandbox.core.plugin_options import parse_options
from sandbox.failure.action import ACTION_KINDS, action_named
from sandbox.failure.fault import EXAMPLE as FAILURE_EXAMPLE
from sandbox.failure.fault import fault_named
from sandbox.load.common.registry import EXAMPLE, NamedWorkload, resolve_workload
from sandbox.load.common.workload import Event, Parameters, Progress, make_parameters, refuse_unused
from sandbox.measure.run import AnyRequest
from sandbox.measure.trial.drivers import IMAGE, DriverChoice, driver_asked
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.scenario import FIRST_S, Scenario, scenario_of, schedule_names
from sandbox.measure.trial.schedule import length
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.report.document import Document
from sandbox.stack.beside import supply_beside
from sandbox.stack.protocol import RunningStack
from sandbox.stack.snapshots.background import measuring

Measured = tuple[Record, ResultFolder]
Measure = Callable[[RunningStack, AnyRequest, Path, Callable[[Event], None]], Measured]


def load_asked(
    workload: str,
    options: Sequence[str],
    given: Mapping[str, object],
) -> tuple[NamedWorkload, Parameters]:
    """The workload and its parameters; those not given (None) have their default.

    Raises SandboxError (exit 2) for an unknown workload or parameter.
    """
    given = {name: value for name, value in given.items() if value is not None}
    parameters = make_parameters(**given)
    named = resolve_workload(workload, parse_options(options, EXAMPLE))
    refuse_unused(named.workload, given, named.name)
    return named, parameters


def scenario_asked(
    fault: str | None,
    target: str | None,
    options: Sequence[str],
    seconds: float | None,
) -> Scenario:
    """The fault profile of that name; with a length or options, the fault or action alone.

    Raises SandboxError (exit 2) for an unknown fault, action or option.
    """
    if fault is None:
        known = f"known: {', '.join(schedule_names())}"
        next_step = "try: make trial FAULT=server-crash TARGET=writer"
        raise SandboxError("no FAULT was given", known, next_step)
    given = parse_options(options, FAILURE_EXAMPLE)
    if not given and seconds is None:
        return scenario_of([fault], target)
    kind = "action" if fault in ACTION_KINDS.names() else "fault"
    if kind == "fault":
        fault_named(fault, given)
    else:
        action_named(fault, given)
    lasting = None if seconds is None else length(seconds)
    step = {"at": length(FIRST_S), kind: fault, "target": target, "for": lasting, **given}
    return scenario_of([step])


def driver_of_trial(asked: str | None) -> DriverChoice | None:
    """The driver asked for; None without one. Raises SandboxError (exit 2) for one that there is
    not.
    """
    return driver_asked(asked) if asked else None


def measured(
    command: str, name: str | None, measure: Measure[AnyRequest], request: AnyRequest
) -> Measured:
    """The record of a running stack, measured once, and its result.

    ``command``: the word before what it shows.
    """
    with EventLine(command) as line, measuring(lambda text: line(Progress("snapshot", text))):
        with ProgressDisplay(command) as progress:
            # Once its snapshot is taken, which a change would make void.
            stack = quiet_stack(name, progress)
            if isinstance(request, TrialRequest) and request.driver is not None:
                # Before its image is built, which takes a minute.
                request.driver.refuse_unfit(stack.nodes(), stack.entry_point(request.via))
                supply_beside(IMAGE, progress, stack.docker)
        return measure(stack, request, RESULTS, line)


def show_run(as_json: bool, record: Record, result: Path, document: Document) -> None:
    """Prints one run of a result's folder: its record, or what is said about it and where the
    record is.
    """
    if as_json:
        print(record.model_dump_json(indent=2))
        return
    folder = result.relative_to(RESULTS.parent)
    show_document(False, None, document, [f"{folder}/runs/{record.cell}.{record.block}"])


class EventLine(LiveLine):
    """The events of a run: in a terminal its seconds move, elsewhere each has its own line."""

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        if isinstance(event, Progress):
            self.line(event.step if event.text == "begins" else f"{event.step}: {event.text}")
        elif self._terminal:
            self.move(second_text(event))
        else:
            print(second_text(event), file=self._stream, flush=True)

"""The part that `bench` and `trial` share: the load asked for, and the measurement."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandbox.cli.common.running import quiet_stack
from sandbox.cli.console import LiveLine, ProgressDisplay, second_text
from sandbox.core.paths import RESULTS
from sandbox.core.plugin_options import parse_options
from sandbox.load.common.registry import EXAMPLE, NamedWorkload, resolve_workload
from sandbox.load.common.workload import Event, Parameters, Progress, make_parameters, refuse_unused
from sandbox.measure.request import AnyRequest
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
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
        return measure(stack, request, RESULTS, line)


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

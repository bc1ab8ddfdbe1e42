"""What a bench and a trial share: the request of a measurement, and the line that shows it."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.cli.console import LiveLine, second_text
from sandbox.core.plugin_options import parse_options
from sandbox.load.common.registry import EXAMPLE, resolve_workload
from sandbox.load.common.workload import Event, Progress, make_parameters, refuse_unused
from sandbox.measure.run import BenchRequest


def bench_request(workload: str, options: Sequence[str], given: Mapping[str, object], **more: Any) -> BenchRequest:
    """The request of a workload and its parameters; those not given (None) have their default.

    Raises SandboxError (exit 2) for an unknown workload or parameter.
    """
    given = {name: value for name, value in given.items() if value is not None}
    parameters = make_parameters(**given)
    named = resolve_workload(workload, parse_options(options, EXAMPLE))
    refuse_unused(named.workload, given, named.name)
    return BenchRequest(named, parameters, command=tuple(sys.argv), **more)


class BenchLine(LiveLine):
    """The events of a bench: in a terminal the seconds move, elsewhere each has its own line."""

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        if isinstance(event, Progress):
            self.line(event.step if event.text == "begins" else f"{event.step}: {event.text}")
        elif self._terminal:
            self.move(second_text(event))
        else:
            print(second_text(event), file=self._stream, flush=True)

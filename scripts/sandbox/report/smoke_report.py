"""PURE: what a smoke benchmark reports: its looks, its sides, its outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.results.gate import Look, Outcome, outcome_of
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import NodeRecord, Record
from sandbox.results.statistics.metrics import Metric


@dataclass(frozen=True, slots=True)
class SmokeLook:
    """One look with its inputs. ``seconds``: from the first stack to the last record."""

    result: str
    part: MatrixPart
    records: Sequence[Record]
    look: Look
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SmokeReport:
    """Everything that a smoke benchmark reports. ``sides``: the request, by side, in the user's words."""

    looks: Sequence[SmokeLook]
    sides: Mapping[str, str]
    command: Sequence[str]
    log: Sequence[str] = ()
    """After an environment failure: the end of the failed node's log."""

    @property
    def first(self) -> Look:
        """The look that decides, unless it finds worse."""
        return self.looks[0].look

    @property
    def repetition(self) -> Look | None:
        """The look that decides in that case."""
        return self.looks[1].look if len(self.looks) > 1 else None

    @property
    def outcome(self) -> Outcome:
        """The gate's outcome."""
        return outcome_of(self.first, self.repetition)

    def records_of(self, side: str) -> list[Record]:
        """The runs of one side, the newest first."""
        every = [record for look in self.looks for record in look.records]
        return [record for record in reversed(every) if record.cell == f"variant-{side}"]

    def server_of(self, side: str) -> NodeRecord | None:
        """The side's first server, from its newest record."""
        nodes = (node for record in self.records_of(side) for node in record.nodes)
        return next((node for node in nodes if node.role in ("writer", "reader")), None)

    def variables_of(self, side: str) -> Mapping[str, Mapping[str, str]]:
        """Variables of the side's servers, from its newest record with any."""
        return next((record.variables for record in self.records_of(side) if record.variables), {})


def shown(metric: Metric, effect: float, sign: bool = True) -> str:
    """An effect for display: a share of the baseline, or a difference in the metric's unit."""
    value = metric.shown(effect)
    text = f"{value:+.1%}" if metric.scale == "ratio" else f"{value:+.4g} {metric.unit}"
    return text if sign else text.lstrip("+")

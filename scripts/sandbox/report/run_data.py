"""PURE: the data of one run for a report: record, one-second series, server counters and files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.results.record import Record
from sandbox.results.server_series import Points


@dataclass(frozen=True, slots=True)
class RunData:
    """One run, as loaded."""

    record: Record
    seconds: Mapping[str, Sequence[float]]
    """Column of the one-second series → its values in the measured window."""
    servers: Mapping[str, Mapping[str, Points]]
    """Server → counter → points, second by second."""
    files: Mapping[str, str]
    """Label of each existing file → its path relative to the result's folder."""

    @property
    def name(self) -> str:
        """``<cell>.<block>``."""
        return f"{self.record.cell}.{self.record.block}"

    @property
    def good(self) -> bool:
        """Whether its figures count."""
        return self.record.counts

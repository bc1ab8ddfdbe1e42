"""PURE: what a report reads of one run: its record, its seconds, what its servers did, and the files it left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.results.record import Record
from sandbox.results.server_series import Points


@dataclass(frozen=True, slots=True)
class RunData:
    """One run, read."""

    record: Record
    seconds: Mapping[str, Sequence[float]]
    """Column of the one-second series → its figures in the measured window."""
    servers: Mapping[str, Mapping[str, Points]]
    """Server → counter → points, second by second."""
    files: Mapping[str, str]
    """A word for each file that exists, with its path from the result's folder."""

    @property
    def name(self) -> str:
        """``<cell>.<block>``."""
        return f"{self.record.cell}.{self.record.block}"

    @property
    def good(self) -> bool:
        """Whether its figures count."""
        return self.record.counts

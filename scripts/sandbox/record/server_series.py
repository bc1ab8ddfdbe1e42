"""The one-second samples of a run → each server's activity second by second: rates of counters,
values of gauges.
"""

import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic_core import from_json

Points = Sequence[float | None]
"""By second since sampling started, the first interval first; None where a sample is missing."""
_Slot = Mapping[str, Any] | None
"""The sample of one second, if any."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A status variable worth plotting. ``kind``: a rate is shown per second, times ``factor``; a
    gauge as it is.
    """

    name: str
    group: str
    unit: str
    kind: Literal["rate", "gauge"]
    factor: float


_ROWS = csv.DictReader(
    files(__package__).joinpath("counters.csv").read_text(encoding="utf-8").splitlines()
)
COUNTERS = TypeAdapter(tuple[Counter, ...]).validate_python([*_ROWS])
"""In display order."""


def server_series(lines: Iterable[bytes], seconds: int) -> dict[str, dict[str, list[float | None]]]:
    """The points of each server and counter in of the first ``seconds`` intervals of
    ``samples.jsonl``.

    A counter that the server does not have is absent. Lines that are not samples are skipped.
    """
    sampled: dict[str, list[_Slot]] = {}
    for line in lines:
        sample = _sample(line)
        if sample is not None and sample["slot"] <= seconds:
            slots = sampled.setdefault(sample["node"], [None] * (seconds + 1))
            slots[sample["slot"]] = sample if sample["status"] else None
    return {node: _of_server(slots) for node, slots in sampled.items()}


def added_up(servers: Mapping[str, Mapping[str, Points]]) -> dict[str, list[float | None]]:
    """All servers of a run as one: a second that any of them lacks is None."""
    names = dict.fromkeys(name for series in servers.values() for name in series)
    return {
        name: _sum([series[name] for series in servers.values() if name in series])
        for name in names
    }


def _sample(line: bytes) -> dict[str, Any] | None:
    """A line as a sample of a server; None for others, such as one cut off when the sampler was
    killed.
    """
    try:
        found = from_json(line, cache_strings="keys")
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("node") and "status" in found else None


def _of_server(slots: Sequence[_Slot]) -> dict[str, list[float | None]]:
    first: Mapping[str, Any] = next((slot["status"] for slot in slots if slot), {})
    return {counter.name: _points(counter, slots) for counter in COUNTERS if counter.name in first}


def _points(counter: Counter, slots: Sequence[_Slot]) -> list[float | None]:
    if counter.kind == "gauge":
        return [slot["status"].get(counter.name) if slot else None for slot in slots[1:]]
    return [_rate(counter, before, after) for before, after in itertools.pairwise(slots)]


def _rate(counter: Counter, before: _Slot, after: _Slot) -> float | None:
    if not before or not after:
        return None
    first, last = before["status"].get(counter.name), after["status"].get(counter.name)
    passed = after["t_s"] - before["t_s"]
    # Less than before: the server restarted.
    if first is None or last is None or last < first or passed <= 0:
        return None
    return float(counter.factor * (last - first) / passed)


def _sum(series: Sequence[Points]) -> list[float | None]:
    return [
        (
            None
            if any(value is None for value in second)
            else sum(value for value in second if value is not None)
        )
        for second in zip(*series, strict=True)
    ]

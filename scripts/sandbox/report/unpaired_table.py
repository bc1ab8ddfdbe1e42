"""PURE: an unpaired comparison of two results, as lines of at most 100 columns and as data."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sandbox.report.text import WIDTH, figure, levels_text, text_table, wrapped
from sandbox.report.verdict_table import (
    FIGURES,
    RUNS,
    certainty_data,
    effect_data,
    figures_text,
    margins_by_workload,
    noise_data,
    unsteady_text,
)
from sandbox.results.compare import unsteady_cells
from sandbox.results.unpaired import Difference, Differences, ResultSide, Unpaired, UnpairedVerdict, data_of

_MOST_VARIABLES = 10
WARNING = (
    "Unpaired: A and B ran at different times, so anything else that changed in between counts as a "
    "difference too, and no interval accounts for it. Where it matters, run both as variants of one matrix."
)


def unpaired_lines(first: ResultSide, second: ResultSide, compared: Unpaired, differences: Differences) -> list[str]:
    """Both results, what else differs, one table per metric, notes."""
    lines = [_side("A", first), _side("B", second), "", *textwrap.wrap(WARNING, WIDTH), "", *_apart(differences), ""]
    for metric in dict.fromkeys(verdict.metric for verdict in compared.verdicts):
        verdicts = [each for each in compared.verdicts if each.metric == metric]
        lines += wrapped(f"{metric}   B against A   {margins_by_workload(verdicts, RUNS, compared.noise)}")
        lines += [*(f"  {line}" for line in _table(verdicts)), ""]
    return [*lines, *_notes(compared), *_unsteady("A", first), *_unsteady("B", second)]


def _unsteady(name: str, side: ResultSide) -> list[str]:
    """What changed in this side's cells that were too unsteady to compare."""
    text = unsteady_text(unsteady_cells(side.runs, side.cells)).items()
    return [line for cell, changed in text for line in wrapped(f"not steady in {name}: {cell}: {changed}")]


def unpaired_data(
    first: ResultSide, second: ResultSide, compared: Unpaired, differences: Differences
) -> dict[str, Any]:
    """The same as JSON data; effects as shares of A for ratios, else in the metric's unit."""
    return {
        "paired": False,
        "a": _side_data(first),
        "b": _side_data(second),
        "differences": data_of(differences),
        "unfit": list(compared.unfit),
        "unsteady": {name: _unsteady_data(side) for name, side in (("A", first), ("B", second))},
        "noise": noise_data(compared.noise),
        "verdicts": [_data(verdict) for verdict in compared.verdicts],
        "only_in": {side: [dict(levels) for levels in cells] for side, cells in compared.only.items()},
    }


def _unsteady_data(side: ResultSide) -> dict[str, Any]:
    found = unsteady_cells(side.runs, side.cells)
    return {cell: [asdict(change) for change in changes] for cell, changes in found.items()}


def _side(name: str, side: ResultSide) -> str:
    commit = f", commit {side.manifest.tool_commit}" if side.manifest.tool_commit else ""
    return f"{name}  {side.name}  {side.manifest.profile}{commit}"


def _side_data(side: ResultSide) -> dict[str, Any]:
    manifest = side.manifest
    return {
        "result": side.name,
        "profile": manifest.profile,
        "started_utc": manifest.started_utc.isoformat().replace("+00:00", "Z"),
        "tool_commit": manifest.tool_commit,
        "host_class": side.host_class,
    }


def _apart(differences: Differences) -> list[str]:
    """Differences in anything but the measured values."""
    if not differences.others and not differences.variables:
        return ["No other recorded difference."]
    first = [*differences.others, *differences.variables[:_MOST_VARIABLES]]
    lines = ["Other differences", *(line for each in first for line in _difference(each))]
    more = len(differences.variables) - _MOST_VARIABLES
    return [*lines, f"  and {more} more variables   (JSON=1 lists all)"] if more > 0 else lines


def _difference(each: Difference) -> list[str]:
    first, second = ("unknown or none" if value is None else value for value in (each.first, each.second))
    return textwrap.wrap(f"{each.what}: {first} → {second}", WIDTH, initial_indent="  ", subsequent_indent="    ")


def _table(verdicts: Sequence[UnpairedVerdict]) -> list[str]:
    """Omits the medians of both sides where there is no room for them."""
    factors = list(dict.fromkeys(factor for verdict in verdicts for factor in verdict.levels))
    rows = [
        (
            [each.levels.get(factor, "") for factor in factors],
            ["" if value is None else figure(value, "") for value in each.typical],
            figures_text(each.judgement, each.word, f"{each.runs[0]}+{each.runs[1]}", each.missing, RUNS),
        )
        for each in verdicts
    ]
    full = text_table([*factors, "A", "B", *FIGURES], [[*levels, *sides, *text] for levels, sides, text in rows])
    if max(map(len, full)) + 2 <= WIDTH:
        return full
    return text_table([*factors, *FIGURES], [[*levels, *text] for levels, _, text in rows])


def _notes(compared: Unpaired) -> list[str]:
    text = []
    if compared.unfit:
        text.append(f"UNFIT: the canary of {' and '.join(compared.unfit)} differs from its baseline; no verdicts")
    if any(verdict.word == "no difference" for verdict in compared.verdicts):
        text.append("sees: the smallest difference that this many runs detect with 80 % power")
    sources = {source for source, _ in compared.noise.values()}
    if "canary" in sources:
        text.append("not calibrated for both: the noisier of the two canaries sets the margin   (make calibrate)")
    if "unknown" in sources:
        text.append("no canary and no calibration: the noise is unknown; a matrix has its own canary")
    for side, cells in compared.only.items():
        if cells:
            names = "; ".join(map(levels_text, cells))
            text += textwrap.wrap(f"only in {side}: {names}", WIDTH, subsequent_indent="  ")
    return text


def _data(verdict: UnpairedVerdict) -> Mapping[str, Any]:
    text: dict[str, Any] = {
        "levels": dict(verdict.levels), "metric": verdict.metric, "verdict": verdict.word, "runs_a": verdict.runs[0],
        "runs_b": verdict.runs[1], "median_a": verdict.typical[0], "median_b": verdict.typical[1],
        "lost_runs": verdict.missing,
    }  # fmt: skip
    if verdict.judgement is None:
        return text
    judgement, needed = verdict.judgement, {"runs_needed": verdict.judgement.blocks_needed}
    return text | effect_data(judgement.effect) | certainty_data(judgement) | needed

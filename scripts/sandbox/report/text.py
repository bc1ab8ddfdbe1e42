"""PURE: how effects, levels, loads, tables and commands are written; a line has at most 100
columns.
"""

import math
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import Metric
from sandbox.record.record import PreparationRecord, WorkloadRecord

WIDTH = 100
UNKNOWN = "unknown"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, left-aligned; columns that are empty in every row are left out."""
    used = [column for column in range(len(header)) if any(row[column] for row in rows)]
    shown = [[row[column] for column in used] for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]


def wrapped(text: str, head: str = "", indent: str | None = None, width: int = WIDTH) -> list[str]:
    """``head`` and text as lines that fit, names unbroken; none for an empty text. ``indent``:
    below the head.
    """
    further = (" " * len(head) or "  ") if indent is None else indent
    return textwrap.wrap(
        text,
        width,
        initial_indent=head,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def cut(text: str, longest: int) -> str:
    """The text, or its start and an ellipsis where it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def figure(value: float, separator: str = ",", sign: str = "", digits: int = 4) -> str:
    """A number for a table: so many digits (3 or 4), but all before the point; no exponent, however
    large.

    ``separator``: between thousands; ``sign`` ``+``: also before a positive number.
    """
    short = f"{value:{sign}.{digits}g}"
    return f"{value:{sign}{separator}.0f}" if abs(float(short)) >= 1000 else short


def value_text(value: float, at_least: bool) -> str:
    """A number without thousands' separators; ``≥`` where it is only a lower bound."""
    return f"{'≥ ' if at_least else ''}{figure(value, '')}"


def shown(metric: Metric, effect: float) -> str:
    """An effect: a share of the baseline for a ratio, else a difference in the metric's unit."""
    value = metric.shown(effect)
    return (
        f"{value:+.1%}" if metric.scale == "ratio" else f"{figure(value, sign='+')} {metric.unit}"
    )


def p_text(p: float) -> str:
    """A probability with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def duration(seconds: float) -> str:
    """A readable duration: ``45 s``, ``12 min``, ``1 h 5 min``."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def varied(part: MatrixPart) -> list[str]:
    """The factors that have more than one level."""
    return [factor for factor, levels in part.factors.items() if len(levels) > 1]


def levels_text(levels: Mapping[str, str], factors: Iterable[str] | None = None) -> str:
    """``workload oltp_read_write, threads 4``, of all factors or of those given."""
    chosen = levels if factors is None else [factor for factor in factors if factor in levels]
    return ", ".join(f"{factor} {levels[factor]}" for factor in chosen)


def ports_text(ports: Mapping[str, int]) -> str:
    """Each port by its name, with its number."""
    return " ".join(f"{name}:{port}" for name, port in ports.items())


def tables_text(data: WorkloadRecord | PreparationRecord) -> str:
    """``4 tables of 25,000 rows``; empty for a workload that defines its own tables."""
    if data.tables is None:
        return ""
    rows = f" of {data.rows_per_table:,} rows" if data.rows_per_table is not None else ""
    return f"{data.tables} {'table' if data.tables == 1 else 'tables'}{rows}"


def options_text(load: WorkloadRecord) -> str:
    """``items=1000 warehouses=2``; empty for a workload without options."""
    return " ".join(f"{name}={value}" for name, value in sorted(load.options.items()))


def make_command(command: Sequence[str], more: Mapping[str, str] | None = None) -> str:
    """``make bench THREADS=8``, from ``[…/sandbox, bench, --threads, 8]``; ``more``: variables to
    add where missing.

    An option given several times, such as SET, becomes one value separated by spaces, as make
    expects.
    """
    given: dict[str, list[str]] = {}
    words = list(command[2:])
    while words:
        option, equals, value = words.pop(0).partition("=")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("--") else "1"
        given.setdefault(option.removeprefix("--").replace("-", "_").upper(), []).append(value)
    for name, value in (more or {}).items():
        given.setdefault(name, [value])
    variables = (f"{name}={shlex.quote(' '.join(values))}" for name, values in given.items())
    return " ".join(["make", *command[1:2], *variables])

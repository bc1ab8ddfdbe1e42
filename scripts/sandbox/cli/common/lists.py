"""Lists of what there is: workloads, matrices, settings, faults, actions, versions, results."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from io import StringIO
from typing import Any

from sandbox.cli.common.results import read_manifest
from sandbox.cli.common.showing import show
from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.core.paths import RESULTS, yaml_files
from sandbox.core.plugin_options import help_line, option_texts
from sandbox.failure.action import ACTION_KINDS
from sandbox.failure.fault import FAULT_KINDS
from sandbox.load.common.registry import WORKLOADS, find_workloads
from sandbox.matrix.file import MATRICES, read_matrix
from sandbox.measure.trial.drivers import every_driver
from sandbox.measure.trial.scenario import FAULTS, read_profile, schedule_names
from sandbox.profile.alternatives import series_versions
from sandbox.profile.images import Availability
from sandbox.profile.reader import load_library, load_lock
from sandbox.record.store import all_results
from sandbox.report.text import WIDTH
from sandbox.repro.file import read_repro, repro_names
from sandbox.stack.engine import Docker
from sandbox.stack.images import engine_availability

Row = dict[str, Any]


def show_list(asked: str | None, as_json: bool) -> None:
    """Prints a list by its name. Raises SandboxError (exit 2) for one that does not exist."""
    if asked not in LISTS:
        known = did_you_mean(asked, LISTS) if asked else f"known: {', '.join(LISTS)}"
        what = f"there is no list of '{asked}'" if asked else "no WHAT was given"
        raise SandboxError(what, known, "try: make list WHAT=workloads")
    rows = list(LISTS[asked]())
    if rows or as_json:
        show(as_json, {asked: rows}, _lines(rows))


def _lines(rows: list[Row]) -> Iterator[str]:
    """A table for a terminal of 100 columns: cells are wrapped where they do not fit beside the
    others.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*rows[0], box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for row in rows:
        table.add_row(*(Text(_text(value)) for value in row.values()))
    printed = StringIO()
    Console(width=WIDTH, file=printed, color_system=None).print(table)
    for line in printed.getvalue().splitlines():
        yield line.rstrip()


def _text(value: Any) -> str:
    return (
        " ".join(map(str, value))
        if isinstance(value, list)
        else ""
        if value is None
        else str(value)
    )


def _workloads() -> Iterator[Row]:
    for name, each in find_workloads(WORKLOADS).items():
        yield {"workload": name, "help": each.help}


def _matrices() -> Iterator[Row]:
    for path in yaml_files(MATRICES).values():
        matrix = read_matrix(path)
        yield {"matrix": matrix.name, "factors": list(matrix.factors), "question": matrix.question}


def _repros() -> Iterator[Row]:
    for name in repro_names():
        repro = read_repro(name)
        yield {"repro": name, "profile": repro.profile, "title": repro.title}


def _settings() -> Iterator[Row]:
    for name, each in load_library().settings.items():
        yield {"setting": name, "applies_to": each.applies_to, "help": each.help}


def _versions() -> Iterator[Row]:
    catalog = load_library().catalog
    available = None
    try:
        available = engine_availability(load_lock(), Docker(), catalog)
    except SandboxError as problem:
        print(f"note: what is here is unknown: {problem.what}", file=sys.stderr)
    for key, image in catalog.images.items():
        for name in image.series:
            found = series_versions(catalog, key, name, available or Availability())
            there: Row = {column: list(versions) for column, versions in asdict(found).items()}
            if available is None:
                there["here"] = None
            yield {"image": key, "series": name, **there}


def _faults() -> Iterator[Row]:
    kinds = FAULT_KINDS.every()
    for name, kind in kinds.items():
        yield {"fault": name, "options": list(option_texts(kind)), "help": help_line(kind)}
    for name in schedule_names():
        if name not in kinds:
            yield {
                "fault": name,
                "options": None,
                "help": read_profile(yaml_files(FAULTS)[name]).title,
            }


def _actions() -> Iterator[Row]:
    for name, kind in ACTION_KINDS.every().items():
        yield {"action": name, "options": list(option_texts(kind)), "help": help_line(kind)}


def _drivers() -> Iterator[Row]:
    for name, each in every_driver().items():
        yield {"driver": name, "modes": each.mode_names, "help": each.help}


def _results() -> Iterator[Row]:
    for result in all_results(RESULTS):
        try:
            manifest = read_manifest(result)
        except SandboxError:  # broken, or of another version of this tool
            yield {"result": result.path.name, "kind": "unreadable", "runs": None, "profile": None}
            continue
        runs = len(manifest.runs)
        yield {
            "result": result.path.name,
            "kind": manifest.kind,
            "runs": runs,
            "profile": manifest.profile,
        }


LISTS: dict[str, Callable[[], Iterator[Row]]] = {
    "workloads": _workloads,
    "matrices": _matrices,
    "repros": _repros,
    "settings": _settings,
    "faults": _faults,
    "actions": _actions,
    "drivers": _drivers,
    "versions": _versions,
    "results": _results,
}

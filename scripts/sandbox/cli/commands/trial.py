"""trial: breaks a running stack, and says how long writes were out and what was lost."""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.measuring import (
    driver_of_trial,
    load_asked,
    measured,
    scenario_asked,
    show_run,
)
from sandbox.cli.common.options import Json, Name, chosen
from sandbox.cli.common.repeating import measured_repeatedly, show_repeats
from sandbox.cli.registry import About
from sandbox.judge.verdict import MOST_BLOCKS
from sandbox.measure.run import NO_LOAD
from sandbox.measure.trial.prober import ProberRates
from sandbox.measure.trial.repeats import repeats_asked
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.trial import exit_code, trial
from sandbox.report.charts.layout import RunData
from sandbox.report.trial import trial_document

ABOUT = About(group="measure", after="bench", recorded=True)
Repeat = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_BLOCKS, help="Trials in a row on the stack, reset in between."),
]
Until = Annotated[
    str | None,
    typer.Option(help="Ends them: 'log:PATTERN', lost-member, failed-check, or a check's name."),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Restore the stack from its snapshot for each of them.")
]
LoadOptions = Annotated[
    list[str] | None, typer.Option(help="Options of the load: 'table=shared ledger=on'.")
]


def command(
    name: Name = None,
    fault: Annotated[
        str | None, chosen("Fault, action or fault profile.", completion.trial_fault)
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="writer (default), one-reader, minority, …, proxy, a node.")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option(help="Options of the fault or action: 'to=11.8'.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="How long it lasts (until writes are back; at most 60).")
    ] = None,
    rate: Annotated[
        int, typer.Option(min=1, max=2000, help="Writes per second of the prober (100).")
    ] = 100,
    transaction: Annotated[
        bool,
        typer.Option("--transaction", help="Each write is BEGIN, INSERT, COMMIT (autocommit)."),
    ] = False,
    workload: Annotated[
        str | None, chosen("Load beside the prober, at half of its capacity.", completion.workload)
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of that load (8).")] = None,
    load_options: LoadOptions = None,
    via: Annotated[
        str | None, chosen("Node, term, node:port, writer or reader.", completion.entry)
    ] = None,
    driver: Annotated[
        str | None,
        chosen("Driver beside the prober, such as connector-j:sequential.", completion.driver),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draws nodes and keys (random).")] = None,
    repeat: Repeat = None,
    until: Until = None,
    fresh: Fresh = False,
    json: Json = False,
) -> int:
    """Break a stack once or often; measure the outage, the errors and what was lost."""
    scenario = scenario_asked(fault, target, options or (), seconds)
    load, parameters = load_asked(workload or NO_LOAD, load_options or (), {"threads": threads})
    request = TrialRequest(
        load, parameters, via, seed, tuple(sys.argv),
        scenario=scenario, loaded=workload is not None, rates=ProberRates.at(rate),
        transaction=transaction, driver=driver_of_trial(driver),
    )  # fmt: skip
    repeats = repeats_asked(repeat, until, fresh, request)
    if repeats is not None:
        return int(show_repeats(json, measured_repeatedly(name, request, repeats)))
    record, result = measured("trial", name, trial, request)
    show_run(json, record, result.path, trial_document(RunData(record)))
    return int(exit_code(record))

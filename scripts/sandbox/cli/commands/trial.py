"""trial: breaks a running stack once while a probe writes and reads, and says how long it was out and what was lost."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.measuring import BenchLine, bench_request
from sandbox.cli.common.options import Json, Name, chosen
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.common.showing import show_run
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.core.plugin_options import parse_options
from sandbox.failure.registry import ACTION_KINDS, EXAMPLE, action_named, fault_named
from sandbox.load.common.workload import Progress
from sandbox.measure.bench import EXIT_CODES, bench
from sandbox.measure.run import NO_LOAD, TrialRequest
from sandbox.measure.trial.prober import ProbeRates
from sandbox.measure.trial.schedule import FIRST_S, Scenario, length, scenario_of, schedule_names
from sandbox.report.charts.layout import RunData
from sandbox.report.trial import trial_document
from sandbox.stack.snapshots.background import measuring

ABOUT = About(group="measure", after="bench", recorded=True)


def command(
    name: Name = None,
    fault: Annotated[str | None, chosen("Fault, action or fault profile.", completion.trial_fault)] = None,
    target: Annotated[
        str | None, typer.Option(help="writer (default), one-reader, minority, …, proxy, a node.")
    ] = None,
    options: Annotated[list[str] | None, typer.Option(help="Options of the fault or action: 'to=11.8'.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="How long it lasts (until writes are back; at most 60).")
    ] = None,
    rate: Annotated[int, typer.Option(min=1, max=2000, help="Writes per second of the probe (100).")] = 100,
    transaction: Annotated[
        bool, typer.Option("--transaction", help="Each write is BEGIN, INSERT, COMMIT (autocommit).")
    ] = False,
    workload: Annotated[
        str | None, chosen("Load beside the probe, at half of its capacity.", completion.workload)
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of that load (8).")] = None,
    via: Annotated[str | None, chosen("Node, term, node:port, writer or reader.", completion.entry)] = None,
    seed: Annotated[int | None, typer.Option(help="Draws nodes and keys (random).")] = None,
    json: Json = False,
) -> int:
    """Break a stack once and measure the outage, the errors and what was lost."""
    scenario = _scenario(fault, target, options or (), seconds)
    rates = ProbeRates(pooled=rate, fresh=max(1, rate // 5), writer=rate, reader=rate)
    trial = TrialRequest(
        scenario.schedule(), scenario, loaded=workload is not None, rates=rates, transaction=transaction
    )
    given = {"threads": threads}
    request = bench_request(workload or NO_LOAD, (), given, via=via, seed=seed, trial=trial)
    with BenchLine("trial") as line, measuring(lambda text: line(Progress("snapshot", text))):
        with ProgressDisplay("trial") as progress:
            stack = quiet_stack(name, progress)  # once its snapshot is taken, which a change would make void
        record, result = bench(stack, request, RESULTS, line)
    show_run(json, record, result.path, trial_document(RunData(record)))
    failed = any(check.verdict == "fail" for check in record.checks)
    return int(ExitCode.FAILED if record.status == "ok" and failed else EXIT_CODES[record.status])


def _scenario(fault: str | None, target: str | None, options: Sequence[str], seconds: float | None) -> Scenario:
    """The fault profile of that name; with a length or options, the fault or action alone, after a baseline."""
    if fault is None:
        step = "try: make trial FAULT=server-crash TARGET=writer"
        raise SandboxError("no FAULT was given", f"known: {', '.join(schedule_names())}", step)
    given = parse_options(options, EXAMPLE)
    if not given and seconds is None:
        return scenario_of([fault], target)
    kind = "action" if fault in ACTION_KINDS.names() else "fault"
    if kind == "fault":
        fault_named(fault, given)
    else:
        action_named(fault, given)
    lasting = None if seconds is None else length(seconds)
    return scenario_of([{"at": length(FIRST_S), kind: fault, "target": target, "for": lasting, **given}])

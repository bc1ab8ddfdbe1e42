"""Repeated trials: the stack and how it is reset, their progress, what is printed of them."""

import json

from sandbox.cli.common.measuring import EventLine
from sandbox.cli.common.results import read_manifest, read_records
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.common.showing import show_document
from sandbox.cli.console import ProgressDisplay
from sandbox.core.errors import ExitCode
from sandbox.core.paths import RESULTS
from sandbox.load.common.workload import Progress
from sandbox.measure.trial.repeats import Repeats, repeat_trial, series_exit_code
from sandbox.measure.trial.reset import healing, restoring
from sandbox.measure.trial.run import TrialRequest
from sandbox.record.manifest import RepeatsPart
from sandbox.record.store import ResultFolder
from sandbox.report.charts.layout import RunData
from sandbox.report.render import json as json_of
from sandbox.report.repeats import repeats_document
from sandbox.stack.snapshots.background import measuring


def measured_repeatedly(name: str | None, request: TrialRequest, repeats: Repeats) -> ResultFolder:
    """The result of repeated trials on a running stack.

    Raises SandboxError (exit 2), before anything is changed, for a stack that cannot be restored
    where each trial is to have a fresh one.
    """

    def progress() -> ProgressDisplay:
        return ProgressDisplay("trial")

    with EventLine("trial") as line, measuring(lambda text: line(Progress("snapshot", text))):
        with progress() as show:
            stack = quiet_stack(name, show)
        reset = restoring(stack, progress) if repeats.fresh else healing(progress)
        return repeat_trial(stack, request, repeats, reset, RESULTS, line)


def show_repeats(as_json: bool, result: ResultFolder) -> ExitCode:
    """Prints what the trials of a result say together; the exit code of the command."""
    part = read_manifest(result).repeats or RepeatsPart(count=0, fresh=False)
    records = read_records(result)
    document = repeats_document([RunData(record) for record in records], part)
    folder = str(result.path.relative_to(RESULTS.parent))
    if as_json:
        print(json.dumps({**json_of.data(document), "result": folder}, indent=2))
    else:
        show_document(False, None, document, [f"{folder}/runs"])
    return series_exit_code(records, part)

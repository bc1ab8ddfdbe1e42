"""A trial that is ended from outside, by Ctrl-C, TERM or a time limit: what it has measured by then
is kept.
"""

import time

from sandbox.core.errors import SandboxError
from sandbox.measure.run import RunEndedError
from sandbox.measure.trial.result import judge_trial
from sandbox.measure.trial.run import TrialRun


def keep_figures(run: TrialRun) -> list[str]:
    """Heals first; then the prober ends in order, and its log is judged up to now.

    What the reason of its record says about that.
    """
    said: list[str] = []
    try:
        if run.prober.is_running:
            _heal_and_end(run)
        if run.judged is None and "probe" in run.files:
            judge_trial(run, None, {}, {})
            said.append("its figures end there, and no ledger was read")
    except RunEndedError as end:  # a log that cannot be judged leaves no figures
        said.append(end.reason)
    except SandboxError as error:  # a fault that cannot be healed
        said.append(f"{error.what}: {error.known}")
    except KeyboardInterrupt:  # of the second one nothing but the healing is waited for
        pass
    return said


def _heal_and_end(run: TrialRun) -> None:
    clock = run.prober.clock()
    timeline = run.timeline
    timeline.end_us = clock.prober_us(time.monotonic_ns())
    run.breaking.close()
    healed_us = clock.prober_us(time.monotonic_ns())
    for each in timeline.steps:
        if each.step.fault is not None and each.healed_us is None:
            each.heal_began_us, each.healed_us = timeline.end_us, healed_us
    run.prober.stop()

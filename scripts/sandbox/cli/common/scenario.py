"""The scenario that the options of a trial make up."""

from collections.abc import Sequence

from sandbox.core.errors import SandboxError
from sandbox.core.plugin_options import parse_options
from sandbox.failure.registry import ACTION_KINDS, EXAMPLE, action_named, fault_named
from sandbox.measure.trial.schedule import FIRST_S, Scenario, length, scenario_of, schedule_names


def scenario_asked(
    fault: str | None,
    target: str | None,
    options: Sequence[str],
    seconds: float | None,
) -> Scenario:
    """The fault profile of that name; with a length or options, the fault or action alone.

    Raises SandboxError (exit 2) for an unknown fault, action or option.
    """
    if fault is None:
        known = f"known: {', '.join(schedule_names())}"
        next_step = "try: make trial FAULT=server-crash TARGET=writer"
        raise SandboxError("no FAULT was given", known, next_step)
    given = parse_options(options, EXAMPLE)
    if not given and seconds is None:
        return scenario_of([fault], target)
    kind = "action" if fault in ACTION_KINDS.names() else "fault"
    if kind == "fault":
        fault_named(fault, given)
    else:
        action_named(fault, given)
    lasting = None if seconds is None else length(seconds)
    step = {"at": length(FIRST_S), kind: fault, "target": target, "for": lasting, **given}
    return scenario_of([step])

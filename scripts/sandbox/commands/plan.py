"""plan: shows everything known about a stack before it starts."""

import json as json_text

from sandbox.commands.common.options import (
    Cnf,
    Cpus,
    Expression,
    External,
    Init,
    Json,
    Memory,
    Profile,
    SetValue,
    either,
    plan_request,
)
from sandbox.report.plan_view import plan_data, plan_lines
from sandbox.stack.planning import planned

HELP = ("before", 3)


def command(
    expression: Expression = None,
    profile: Profile = None,
    set_: SetValue = None,
    cnf: Cnf = None,
    init: Init = None,
    cpus: Cpus = None,
    memory: Memory = None,
    external: External = None,
    json: Json = False,
) -> None:
    """Print nodes, versions, images, wiring, settings and memory of a profile."""
    made = planned(plan_request(either(expression, profile, "PROFILE"), set_, cnf, init, cpus, memory, external))
    print(json_text.dumps(plan_data(made), indent=2) if json else "\n".join(plan_lines(made)))

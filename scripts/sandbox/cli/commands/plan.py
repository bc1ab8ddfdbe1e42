"""plan: shows everything known about a stack before it starts."""

import sys

from sandbox.cli.common import options
from sandbox.cli.common.request import plan_request
from sandbox.cli.common.showing import show_document
from sandbox.cli.registry import About
from sandbox.report.plan import plan_data, plan_document
from sandbox.stack.engine import Docker
from sandbox.stack.planning import planned
from sandbox.stack.supply import refusal_of_unavailable

ABOUT = About(group="look first", after="list", needs_engine=False)


def command(
    expression: options.Expression = None,
    profile: options.Profile = None,
    set_: options.SetValue = None,
    cnf: options.Cnf = None,
    init: options.Init = None,
    cpus: options.Cpus = None,
    memory: options.Memory = None,
    external: options.External = None,
    disk: options.Disk = None,
    json: options.Json = False,
) -> None:
    """Print nodes, versions, images, wiring, settings and memory of a profile."""
    made = planned(plan_request(expression, profile, set_, cnf, init, cpus, memory, external, disk))
    show_document(json, plan_data(made), plan_document(made))
    if refusal := refusal_of_unavailable(made, Docker()):
        print(f"note: {refusal.what}; {refusal.known}", file=sys.stderr)

"""plan: shows everything known about a stack before it starts."""

from sandbox.cli.common import options
from sandbox.cli.common.plans import plan_request, planned_here
from sandbox.cli.common.showing import show_document
from sandbox.cli.registry import About
from sandbox.report.plan import plan_data, plan_document

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
    request = plan_request(expression, profile, set_, cnf, init, cpus, memory, external, disk)
    made, engine_asked = planned_here(request)
    show_document(json, plan_data(made, engine_asked), plan_document(made, engine_asked))

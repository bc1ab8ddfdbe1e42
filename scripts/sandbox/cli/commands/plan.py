"""plan: shows everything known about a stack before it starts."""

from sandbox.cli.common import options
from sandbox.cli.common.plans import planned_here, takes_plan
from sandbox.cli.common.showing import show_document
from sandbox.cli.registry import About
from sandbox.profile.plan import PlanRequest
from sandbox.report.plan import plan_data, plan_document

ABOUT = About(group="look first", after="list", needs_engine=False)


@takes_plan
def command(
    request: PlanRequest,
    json: options.Json = False,
) -> None:
    """Print nodes, versions, images, wiring, settings and memory of a profile."""
    made, engine_asked = planned_here(request)
    show_document(json, plan_data(made, engine_asked), plan_document(made, engine_asked))

"""config: a profile as a single Compose file."""

import sys

from sandbox.cli.common import options
from sandbox.cli.common.plans import plan_request, planned_here
from sandbox.cli.registry import About
from sandbox.profile.compose import compose_document, compose_text
from sandbox.report.plan import NO_ENGINE
from sandbox.stack.naming import DEFAULT_NAME, identity
from sandbox.stack.secrets import draw_secrets

ABOUT = About(group="look first", after="plan", needs_engine=False)


def command(
    expression: options.Expression = None,
    profile: options.Profile = None,
    name: options.NameOfUp = None,
    set_: options.SetValue = None,
    cnf: options.Cnf = None,
    init: options.Init = None,
    cpus: options.Cpus = None,
    memory: options.Memory = None,
    external: options.External = None,
) -> None:
    """Print a profile as a single Compose file."""
    request = plan_request(expression, profile, set_, cnf, init, cpus, memory, external)
    made, engine_asked = planned_here(request)
    if not engine_asked:
        print(f"note: {NO_ENGINE}", file=sys.stderr)
    sys.stdout.write(
        compose_text(compose_document(made, draw_secrets(made), identity(name or DEFAULT_NAME)))
    )

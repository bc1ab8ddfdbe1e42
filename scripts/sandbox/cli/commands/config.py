"""config: a profile as a single Compose file."""

import sys

from sandbox.cli.common import options
from sandbox.cli.common.request import plan_request
from sandbox.cli.registry import About
from sandbox.profile.compose import compose_document, compose_text
from sandbox.stack.engine import Docker
from sandbox.stack.naming import DEFAULT_NAME, identity
from sandbox.stack.planning import planned
from sandbox.stack.secrets import draw_secrets
from sandbox.stack.supply import refusal_of_unavailable

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
    made = planned(plan_request(expression, profile, set_, cnf, init, cpus, memory, external))
    if refusal := refusal_of_unavailable(made, Docker()):
        print(f"note: {refusal.what}; {refusal.known}", file=sys.stderr)
    sys.stdout.write(
        compose_text(compose_document(made, draw_secrets(made), identity(name or DEFAULT_NAME)))
    )

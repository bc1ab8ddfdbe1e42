"""config: a profile as a single Compose file."""

import sys

from sandbox.commands.common.options import (
    Cnf,
    Cpus,
    Expression,
    External,
    Init,
    Memory,
    NameOfUp,
    Profile,
    SetValue,
    either,
    plan_request,
)
from sandbox.plan.compose import compose_document, compose_text
from sandbox.stack.naming import DEFAULT_NAME, identity
from sandbox.stack.planning import planned
from sandbox.stack.secrets import draw_secrets

HELP = ("before", 4)


def command(
    expression: Expression = None,
    profile: Profile = None,
    name: NameOfUp = None,
    set_: SetValue = None,
    cnf: Cnf = None,
    init: Init = None,
    cpus: Cpus = None,
    memory: Memory = None,
    external: External = None,
) -> None:
    """Print a profile as a single Compose file."""
    made = planned(plan_request(either(expression, profile, "PROFILE"), set_, cnf, init, cpus, memory, external))
    for node in made.unavailable():
        print(f"note: {node.choice.reference} is not here and not available", file=sys.stderr)
        break
    sys.stdout.write(compose_text(compose_document(made, draw_secrets(made), identity(name or DEFAULT_NAME))))

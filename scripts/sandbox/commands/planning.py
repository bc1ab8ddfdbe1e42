"""plan, config, profiles: everything that can be said before anything starts."""

import json
import sys

from sandbox.errors import SandboxError
from sandbox.library import load_library
from sandbox.plan.model import PlanRequest
from sandbox.stack.planning import planned

EXAMPLES = ("mysql@9.7+replica2", "galera3+haproxy", "gr3@9.7+router")


def need_profile(profile: str | None) -> str:
    """The profile, or three examples where none was given."""
    if profile:
        return profile
    raise SandboxError(
        "no PROFILE was given",
        f"examples: {', '.join(EXAMPLES)}",
        f"try: make up PROFILE={EXAMPLES[1]}   (make profiles lists every term)",
    )


def plan(request: PlanRequest, as_json: bool) -> None:
    """Prints what a profile would start."""
    from sandbox.report.plan_view import plan_data, plan_lines

    made = planned(request)
    if as_json:
        print(json.dumps(plan_data(made), indent=2))
    else:
        print("\n".join(plan_lines(made)))


def config(request: PlanRequest, name: str) -> None:
    """Prints the one Compose file, with freshly drawn passwords."""
    from sandbox.plan.compose import compose_document, compose_text
    from sandbox.stack.naming import identity
    from sandbox.stack.secrets import draw_secrets

    made = planned(request)
    for node in made.unavailable():
        print(f"note: {node.choice.reference} is neither here nor within reach", file=sys.stderr)
        break
    sys.stdout.write(compose_text(compose_document(made, draw_secrets(made), identity(name))))


def profiles(as_json: bool) -> None:
    """Prints every term with its line of help."""
    from sandbox.report.plan_view import profile_data, profile_lines

    library = load_library()
    print(json.dumps(profile_data(library), indent=2) if as_json else "\n".join(profile_lines(library)))

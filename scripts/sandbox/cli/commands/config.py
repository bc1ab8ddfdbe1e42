"""config: a profile as a single Compose file."""

import sys

from sandbox.cli.common import options
from sandbox.cli.common.plans import planned_here, takes_plan
from sandbox.cli.registry import About
from sandbox.core.errors import SandboxError
from sandbox.profile.compose import compose_document, compose_text
from sandbox.profile.plan import PlanRequest
from sandbox.report.plan import NO_ENGINE
from sandbox.stack.naming import DEFAULT_NAME, identity
from sandbox.stack.secrets import draw_secrets

ABOUT = About(group="look first", after="plan", needs_engine=False)


@takes_plan
def command(
    request: PlanRequest,
    name: options.NameOfUp = None,
) -> None:
    """Print a profile as a single Compose file."""
    if request.disk:
        what = f"config cannot say DISK={request.disk}"
        known = "docker compose has no disks of its own: make up makes them, and removes them"
        raise SandboxError(what, known, f"try: make config PROFILE={request.profile}")
    made, engine_asked = planned_here(request)
    if not engine_asked:
        print(f"note: {NO_ENGINE}", file=sys.stderr)
    sys.stdout.write(
        compose_text(compose_document(made, draw_secrets(made), identity(name or DEFAULT_NAME)))
    )

"""The templates of a fragment: how they are rendered, and what they see, passwords and certificates
included.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.grammar import external_address
from sandbox.profile.plan import Node, Plan

if TYPE_CHECKING:  # most plans are made without a template
    import jinja2


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """Letters and digits only, so that no configuration format needs quoting; certificates are
    PEM.
    """

    root: str
    replication: str
    monitor: str
    app: str
    admin: str
    cluster: str
    uuid: str
    ca_certificate: str
    server_certificate: str
    server_key: str
    own_certificate: str
    """Self-signed; empty where every server makes its own."""
    own_key: str
    ssh_key: str
    """A private key in OpenSSH's format; empty where no node logs in to another one."""
    ssh_public_key: str

    @property
    def mark(self) -> str:
        """Distinguishes this stack's data directories from copies in other stacks; not a secret."""
        return hashlib.sha256(f"mark {self.root}".encode()).hexdigest()[:16]

    def passwords(self) -> list[str]:
        """The values that must never appear in a record or log."""
        return [getattr(self, name) for name in PASSWORD_NAMES]


PASSWORD_NAMES = ("root", "replication", "monitor", "app", "admin", "cluster")

PLACEHOLDER = Secrets(
    **{
        item.name: f"placeholder-{item.name.replace('_', '-')}"
        for item in fields(Secrets)
        if item.name != "uuid"
    },
    uuid="00000000-0000-4000-8000-000000000000",
)


def node_context(plan: Plan, node: Node, secrets: Secrets) -> dict[str, Any]:
    """The variables that the templates of a node's component see."""
    # An external server has its own; the servers of a stack know ours alone.
    addresses = [external_address(group.external) for group in plan.groups if group.external]
    user = addresses[0].user if addresses and not plan.databases else "sbtest"
    stack = {"databases": plan.databases, "nodes": plan.nodes, "groups": plan.groups, "user": user}
    return {"node": node, "group": plan.group_of(node), "stack": stack, "secrets": secrets}


@cache
def _environment() -> "jinja2.Environment":
    # Late, for start-up time: a plan is refused, or its first line printed, before a template is.
    import jinja2

    return jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (configuration files, not HTML)
    )


@cache
def _compiled(text: str) -> "jinja2.Template":
    return _environment().from_string(text)


def render_text(text: str, context: Mapping[str, Any], where: str) -> str:
    """Renders one template. Raises SandboxError (exit 5) naming the fragment, since the repository
    is at fault.
    """
    if "{" not in text:
        return text
    from jinja2 import TemplateError

    try:
        return _compiled(text).render(context)
    except TemplateError as problem:
        what = f"the template of {where} cannot be rendered"
        step = "try: make test-unit   (after fixing the template)"
        raise SandboxError(what, str(problem), step, ExitCode.INTERNAL) from problem


def render(value: Any, context: Mapping[str, Any], where: str) -> Any:
    """Renders every string inside a value; anything else stays as it is."""
    if isinstance(value, str):
        return render_text(value, context, where)
    if isinstance(value, Mapping):
        return {
            render_text(str(key), context, where): render(item, context, where)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [render(item, context, where) for item in value]
    return value

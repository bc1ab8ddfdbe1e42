"""A running stack as the pure views take it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sandbox.report.stack_view import NodeView, StackView
from sandbox.stack.inventory import Container
from sandbox.stack.protocol import ServerRole, SettingProof
from sandbox.stack.publish import addresses
from sandbox.stack.roles import explained, server_role
from sandbox.stack.stack import Stack


def view_now(stack: Stack, proved: Sequence[SettingProof] = ()) -> StackView:
    """The stack with what its servers say now; those that stand aside say why."""
    standings = stack.standings()
    aside = [f"{name} is {answer}" for name, answer in standings.items() if explained(answer)]
    return replace(view(stack, {name: server_role(each) for name, each in standings.items()}, proved), aside=aside)


def view(stack: Stack, roles: Mapping[str, ServerRole | None], proved: Sequence[SettingProof] = ()) -> StackView:
    """The stack as it is now, with what its servers answered about their roles and settings."""
    proofs: dict[str, list[dict[str, Any]]] = {}
    for proof in proved:
        proofs.setdefault(proof.node, []).append(
            {"setting": proof.setting, "expected": proof.expected, "answer": proof.answer, "in_effect": proof.in_effect}
        )
    published: dict[str, list[tuple[str, str, int]]] = {}
    for address in addresses(stack):
        published.setdefault(address.node, []).append((address.port_name, address.host, address.port))
    nodes = [_node(each, roles.get(each.node), published, proofs) for each in stack.members]
    return StackView(stack.name, stack.profile, stack.plan, stack.project, stack.checkout, nodes)


def _node(
    container: Container,
    role: str | None,
    published: dict[str, list[tuple[str, str, int]]],
    proofs: dict[str, list[dict[str, Any]]],
) -> NodeView:
    name, about = container.node, container.about
    return NodeView(
        name, about["term"], container.kind, container.id, container.image, container.state, container.health, role,
        about["ports"], published.get(name, []), proofs.get(name, []),
    )  # fmt: skip

"""How commands find and show a running stack."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sandbox.registry import as_typed
from sandbox.report.stack_view import NodeView, StackView, stacks_data, summary_lines
from sandbox.stack.access import addresses
from sandbox.stack.engine import Docker
from sandbox.stack.entry import Entries
from sandbox.stack.lifecycle import Removed
from sandbox.stack.protocol import OnEvent, ServerRole, SettingProof
from sandbox.stack.snapshots.background import undisturbed
from sandbox.stack.stack import Stack, explained, find_stack, server_role
from sandbox.stack.up import Started


def view_now(stack: Stack, proved: Sequence[SettingProof] = ()) -> StackView:
    """The stack with what its servers report now; those that stand aside report why."""
    standings = stack.standings()
    aside = [f"{name} is {answer}" for name, answer in standings.items() if explained(answer)]
    return replace(view(stack, {name: server_role(each) for name, each in standings.items()}, proved), aside=aside)


def view(stack: Stack, roles: Mapping[str, ServerRole | None], proved: Sequence[SettingProof] = ()) -> StackView:
    """The stack as it is now, with what its servers answered about their roles and settings."""
    proofs: dict[str, list[dict[str, Any]]] = {}
    for proof in proved:
        row = {"setting": proof.setting, "expected": proof.expected, "answer": proof.answer}
        proofs.setdefault(proof.node, []).append({**row, "in_effect": proof.in_effect})
    published: dict[str, list[tuple[str, str, int]]] = {}
    for address in addresses(stack):
        published.setdefault(address.node, []).append((address.port_name, address.host, address.port))
    nodes = [
        NodeView(
            each.node, each.about["term"], each.kind, each.id, each.image, each.state, each.health,
            roles.get(each.node), each.about["ports"], published.get(each.node, []), proofs.get(each.node, []),
        )
        for each in stack.members
    ]  # fmt: skip
    return StackView(stack.name, stack.profile, stack.plan, stack.project, stack.checkout, nodes)


def quiet_stack(name: str | None, progress: OnEvent) -> Stack:
    """The stack of a command, once no snapshot is being taken of it."""
    stack = find_stack(name, progress, Docker())
    undisturbed(stack.project, stack.name, progress)
    return stack


def show_ready(started: Started, seconds: float, as_json: bool) -> None:
    """Prints a stack that is ready, and the next commands."""
    stack, roles = started.stack, started.roles
    shown = view(stack, roles)
    if as_json:
        print(json.dumps({**stacks_data([shown])["stacks"][0], "ready_s": round(seconds, 3)}, indent=2))
        return
    entries = {entry.via: f"{entry.node}:{entry.port}" for entry in Entries(stack.members, lambda: roles).defaults()}
    print(as_typed("\n".join(summary_lines(shown, entries, seconds))))


def removed_text(removed: Removed) -> str:
    """One line about what was removed of a stack."""
    if not removed.anything:
        return f"{removed.name}: nothing to remove"
    counts = f"{removed.containers} containers, {removed.volumes} volumes, {removed.networks} networks"
    return f"{removed.name}: removed {counts}"

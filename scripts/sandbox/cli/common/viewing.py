"""How commands find and show a running stack: as data, as lines for a terminal, and the last lines
of `up`.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from sandbox.cli.common.showing import show
from sandbox.core.errors import counted
from sandbox.measure.trial.watch import Watch
from sandbox.profile.versions import short_version
from sandbox.report.text import ports_text, text_table
from sandbox.stack.answers import other_version, server_role
from sandbox.stack.ask_states import look, repair_step
from sandbox.stack.entry import Entries
from sandbox.stack.journal import breakages
from sandbox.stack.lifecycle import Removed
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import ReadyAnswer, ServerRole, SettingProof
from sandbox.stack.publish import addresses
from sandbox.stack.server_status import OUT_OF_SERVICE, WELL, ServerStatus
from sandbox.stack.stack import Stack
from sandbox.stack.up import Started

StackData = Mapping[str, Any]
"""One stack as `ps JSON=1` prints it."""


def view_now(stack: Stack, proved: Sequence[SettingProof] = ()) -> StackData:
    """The stack with what its servers report now; below it why a server is not in its place, and
    what repairs it.
    """
    now = look(stack)
    versions = stack.versions()
    roles = {name: server_role(each) for name, each in now.standings.items()}
    heal = f"heal with make heal{name_option(stack.name)}"
    aside = state_lines(now.states, stack.name)
    aside += [f"broken on purpose: {each.text}; {heal}" for each in breakages(stack.project)]
    return _view(
        stack, roles, versions, proved, aside, _as_asked_for(stack, versions, now.ready), now.states
    )


def _as_asked_for(
    stack: Stack, versions: Mapping[str, str], ready: Mapping[str, ReadyAnswer]
) -> Mapping[str, ReadyAnswer]:
    """The answers; a server of another version than the one requested is not ready."""
    answers = dict(ready)
    for name, version in versions.items():
        if other := other_version(stack.container(name), version):
            answers[name] = ReadyAnswer(False, other)
    return answers


def state_lines(states: Mapping[str, ServerStatus], name: str) -> list[str]:
    """Why servers are not in their place, a line each; then the command that repairs what does not
    return by itself.
    """
    lines = [
        f"{node} is {each.text}"
        for node, each in states.items()
        if each.reason and not each.is_well
    ]
    lines += [f"{node} {link}" for node, each in states.items() for link in each.links]
    if broken := [node for node, each in states.items() if each.needs_repair]:
        lines.append(f"{', '.join(broken)}: {repair_step(name)}")
    return lines


def _view(
    stack: Stack,
    roles: Mapping[str, ServerRole | None],
    versions: Mapping[str, str],
    proved: Sequence[SettingProof] = (),
    aside: Sequence[str] = (),
    ready: Mapping[str, ReadyAnswer] = MappingProxyType({}),
    states: Mapping[str, ServerStatus] = MappingProxyType({}),
) -> StackData:
    """The stack as it is now, with what its servers answered: roles, versions, settings.

    The version of a node that was not asked, or did not answer, is its image's.
    """
    at = [
        (each.node, {"port": each.port_name, "host": each.host, "host_port": each.port})
        for each in addresses(stack)
    ]
    nodes = [
        {
            "name": each.node,
            "term": each.about["term"],
            "kind": each.kind,
            "container": each.id,
            "image": each.image,
            "state": each.state,
            "health": each.health,
            "role": roles.get(each.node),
            "version": versions.get(each.node) or each.about["version"],
            **_ready(ready.get(each.node)),
            **_server_state(states.get(each.node)),
            "ports": each.about["ports"],
            "published": [place for node, place in at if node == each.node],
            "proofs": [
                {
                    "setting": one.setting,
                    "expected": one.expected,
                    "answer": one.answer,
                    "in_effect": one.in_effect,
                }
                for one in proved
                if one.node == each.node
            ],
        }
        for each in stack.members
    ]
    return {
        "name": stack.name, "profile": stack.profile, "plan": stack.plan, "project": stack.project,
        "checkout": stack.checkout, "nodes": nodes, "aside": list(aside),
    }  # fmt: skip


def stack_lines(stack: StackData) -> list[str]:
    """One stack for a terminal of 100 columns; a server that is neither writer nor reader has no
    role.

    What is wrong with a node, what repairs it, and what is broken on purpose, comes below, a line
    each.
    """
    rows = []
    for node in stack["nodes"]:
        role = _role_shown(node)
        version, ports = short_version(node["version"]), ports_text(node["ports"])
        rows.append(
            [
                node["name"],
                version,
                node["state"],
                role,
                _state_shown(node),
                ports,
                _published(node),
            ]
        )
    table = text_table(
        ["node", "version", "container", "role", "state", "ports", "on this host"], rows
    )
    late = [
        f"{node['name']} is not ready: {node['readiness']}"
        for node in stack["nodes"]
        if node["ready"] is False and node["server_state"] in (None, *WELL)
    ]
    return [
        f"{stack['name']}   {stack['profile']}",
        *(f"  {line}" for line in [*table, *late, *stack["aside"]]),
    ]


def _role_shown(node: Mapping[str, Any]) -> str:
    """The role of a server; the kind of any other node. A server that serves nobody is no
    reader.
    """
    if node["kind"] not in ("database", "replica"):
        return str(node["kind"])
    return "" if node["server_state"] in OUT_OF_SERVICE else node["role"] or ""


def _state_shown(node: Mapping[str, Any]) -> str:
    """The state of a server in its own words, where it is not what it is to be; else whether the
    node is ready.
    """
    word = node["server_state"]
    if word is not None and word not in WELL:
        return str(word)
    return {True: "ready", False: "not ready", None: ""}[node["ready"]]


def _ready(answer: ReadyAnswer | None) -> dict[str, Any]:
    """None of both where nobody was asked: the nodes of a stack that has just become ready."""
    return {"ready": answer.ready if answer else None, "readiness": answer.text if answer else None}


def _server_state(state: ServerStatus | None) -> dict[str, Any]:
    """None where nobody was asked, or the node is no server. ``view``: the members, or the source,
    that it sees.
    """
    if state is None:
        none = dict.fromkeys(("server_state", "reason", "view", "repair"))
        return {**none, "replicates": []}
    return {
        "server_state": state.word,
        "reason": state.reason or None,
        "view": list(state.view),
        "repair": state.repair if state.needs_repair else None,
        "replicates": list(state.links),
    }


def _published(node: Mapping[str, Any]) -> str:
    return " ".join("{port}={host}:{host_port}".format(**each) for each in node["published"])


def follow(stack: Stack) -> None:
    """Prints each change of a server's role, state or view, with its time (UTC), until Ctrl-C, its
    regular end.
    """
    with suppress(KeyboardInterrupt), Watch(stack, lambda text: print(text, flush=True)) as watch:
        watch.wait()


def show_ready(started: Started, seconds: float, as_json: bool) -> None:
    """Prints a stack that is ready: its entry points, how to connect, what to type next."""
    stack, roles = started.stack, started.roles
    shown = _view(stack, roles, started.versions)
    option = "" if stack.name == "default" else f" NAME={stack.name}"
    lines = ["", *stack_lines(shown), "", f"ready in {seconds:.1f} s"]
    entries = Entries(stack.members, lambda: roles).defaults()
    lines += [f"entry    {entry.via}: {entry.node}:{entry.port}" for entry in entries]
    published = [
        f"{node['name']} {_published(node)}" for node in shown["nodes"] if node["published"]
    ]
    lines += [f"on host  {'; '.join(published)}"] if published else []
    lines += [
        f"connect  make sql{option}      measure  make bench{option}      remove  make down{option}"
    ]
    show(as_json, {**shown, "ready_s": round(seconds, 3)}, lines)


def removed_text(removed: Removed) -> str:
    """One line about what was removed of a stack."""
    if not removed.anything:
        return f"{removed.name}: nothing to remove"
    things = (
        ("container", removed.containers),
        ("volume", removed.volumes),
        ("network", removed.networks),
    )
    return (
        f"{removed.name}: removed {', '.join(counted(number, thing) for thing, number in things)}"
    )

"""Gives a server another version: another container on the same data, with the same passwords,
under the same name.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sandbox.core.errors import MachineError, SandboxError
from sandbox.profile.compose import compose_document
from sandbox.profile.own_files import server_file_name
from sandbox.profile.plan import Node, OwnFile, Plan, PlanRequest, UserFile
from sandbox.profile.templates import PASSWORD_NAMES, Secrets
from sandbox.stack.create import create, fill, start
from sandbox.stack.engine import RefusedError
from sandbox.stack.inventory import Container, containers
from sandbox.stack.locks import locked_stack
from sandbox.stack.naming import name_option
from sandbox.stack.nodes import StackNodes
from sandbox.stack.planning import planned
from sandbox.stack.secrets import draw_secrets

_GROUP_NAME = "sed -n 's/^loose_group_replication_group_name *= *//p' {folder}/*.cnf | tr -d '\"'"


def upgrade(stack: StackNodes, node: str, version: str) -> Container:
    """Stops a server in order, and starts one of another version on its data; returns its
    container, not yet ready.

    Raises SandboxError: exit 2 where the profile has no such version; exit 4 where its image is not
    here, which is known before anything is stopped, or where the engine refuses: then the old
    server is started again.
    """
    old = stack.container(node)
    plan = planned(_request(stack, old, version))
    _refuse_absent(plan.node(node))
    document = _document(stack, plan, node)
    with locked_stack(stack.project, stack.name, lambda _: None) as lock:
        stack.docker.ask("stop", "-t", str(old.about["grace_s"]), old.id)
        try:
            create(stack.docker, document, stack.project, lock)
            new = _found(stack, node)
            fill(stack.docker, document, [new], lock)
        except RefusedError:
            stack.docker.answer("start", old.id)  # unless it is gone by now
            raise
        start(stack.docker, [new], lock)
        return _found(stack, node)


def _found(stack: StackNodes, node: str) -> Container:
    return next(each for each in containers(stack.docker, stack.project) if each.node == node)


def _request(stack: StackNodes, old: Container, version: str) -> PlanRequest:
    """The stack as it is, with this one change."""
    others = [each for each in stack.members if each.is_server and not _is_own(each)]
    changed = {each.node: _asked(each) for each in others} | {old.node: version}
    return replace(request_of(stack, old), versions=tuple(changed.items()))


def request_of(stack: StackNodes, server: Container) -> PlanRequest:
    """The request that a stack was started from, without INIT=, whose content is not kept.

    ``server``: one that runs, from which its files of CNF= are read back; those of other nodes are
    not in it. SandboxError (exit 4).
    """
    given = stack.inputs
    return PlanRequest(
        stack.profile,
        tuple(given.assignments),
        cnf=_user_file(stack, server) if given.cnf_name else None,
        cpus=given.cpus,
        memory=given.memory,
        cpuset=given.cpuset,
        disk=given.disk,
        own_files=tuple(_own_files(stack, server)),
        links=tuple(given.replicate),
        images=_own_images(stack),
    )


def _own_images(stack: StackNodes) -> tuple[str, ...]:
    """Its own images as they were given; with binaries, what the nodes run, since the files of a
    binary may be gone.
    """
    given = stack.inputs
    if given.binary:
        return tuple(f"{each.node}={each.image}" for each in stack.members if _is_own(each))
    return (given.image,) if given.image else ()


def _is_own(server: Container) -> bool:
    """Whether it runs an image of the user's own, whose version may be none of the catalog's."""
    return bool(server.about["origin"] == "given")


def _asked(server: Container) -> str:
    """The exact version that a server was asked for in, or its series."""
    return str(server.about.get("exact") or server.about["series"])


def _user_file(stack: StackNodes, old: Container) -> UserFile:
    """The file of `CNF=`, read back: a stack keeps its name and hash only."""
    text = _read_back(stack, old, "99-user.cnf")
    return UserFile(stack.inputs.cnf_name or "", text, stack.inputs.cnf_sha256 or "")


def _own_files(stack: StackNodes, old: Container) -> Iterator[OwnFile]:
    """The files of `CNF=` for this server alone, or its term; the others of the stack stay as they
    are.
    """
    for place in dict.fromkeys(typed.partition(":")[0] for typed in stack.inputs.cnf_files):
        if place in (old.node, old.about["component"]):
            text = _read_back(stack, old, server_file_name(place))
            names = [typed for typed in stack.inputs.cnf_files if typed.startswith(f"{place}:")]
            name = names[0].partition(":")[2]
            yield OwnFile(place, UserFile(name, text, stack.inputs.cnf_files[names[0]]))


def _read_back(stack: StackNodes, old: Container, name: str) -> str:
    return stack.docker.ask("exec", old.id, "sh", "-c", f"cat $(find /etc -name {name})")


def _refuse_absent(node: Node) -> None:
    if node.choice.source != "local":
        term = f"{node.choice.key}@{node.choice.exact or node.series}"
        raise MachineError(
            f"{node.name} cannot be upgraded to {node.version}: its image {node.image} is not on"
            " this engine",
            "an upgrade neither pulls nor builds, which would disturb what is measured",
            f"try: make images PROFILE={term}",
        )


def _document(stack: StackNodes, plan: Plan, node: str) -> dict[str, Any]:
    """The Compose file of this one service. What it shares with the others, and its data, is there:
    none is changed.
    """
    document = compose_document(plan, _secrets(stack, plan, node), stack.identity)
    service = {
        key: value for key, value in document["services"][node].items() if key != "depends_on"
    }
    there = {
        kind: {
            name: {"external": True, "name": f"{stack.project}_{name}"} for name in document[kind]
        }
        for kind in ("networks", "volumes")
    }
    return {**document, **there, "services": {node: service}}


def _secrets(stack: StackNodes, plan: Plan, node: str) -> Secrets:
    """The stack's secrets, read back from it; a self-signed certificate is made anew."""
    if plan.node(node).has_certificate("authority"):
        what = (
            f"{node} cannot be upgraded: its certificate is signed by an authority of the stack,"
            " which is not kept"
        )
        known = "components with certificates of their own, or none, can be"
        raise SandboxError(what, known, f"try: make ps{name_option(stack.name)}")
    passwords = stack.docker.ask("exec", stack.client.id, "cat", "/sandbox/passwords").split()
    secrets = replace(draw_secrets(plan), **dict(zip(PASSWORD_NAMES, passwords, strict=True)))
    group = plan.group_of(plan.node(node))
    if group is None or group.topology != "gr":
        return secrets
    script = _GROUP_NAME.format(folder=plan.node(node).component.spec.config_dir)
    return replace(
        secrets, uuid=stack.docker.ask("exec", stack.container(node).id, "sh", "-c", script).strip()
    )

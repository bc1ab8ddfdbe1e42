"""PURE: what of a repro's stack a pack cannot have."""

from collections.abc import Iterator

from sandbox.profile.plan import Node, Plan
from sandbox.repro.definition import Repro
from sandbox.repro.pack.refusal import Unpackable, UnpackableError

_SERVERS = ("galera", "gr", "mariadb", "mysql", "ps", "psgr", "replica")
"""Components whose servers form in a pack."""
_PROFILE = ("profile",)


def refuse_unpublished(repro: Repro) -> None:
    """Raises UnpackableError for images of this engine alone, where a pack is for others."""
    why = "it is in no registry that others have; LOCAL=1 names the image here"
    given = {"binary": repro.binary, "image": repro.image}
    found = [Unpackable((key,), key, why) for key, value in given.items() if value]
    if found:
        raise UnpackableError(found)


def unpackable_parts(plan: Plan) -> list[Unpackable]:
    """The parts of a stack that a pack cannot have."""
    return [*_nodes(plan), *_settings(plan), *_keys(plan)]


def _nodes(plan: Plan) -> Iterator[Unpackable]:
    for node in plan.nodes:
        if node.kind == "client":
            continue
        if node.kind not in ("database", "replica"):
            why = f"a pack has servers alone, and {node.name} is none ({node.kind})"
            yield Unpackable(_PROFILE, f"the term {node.term}", why)
            return
        if node.component.name not in _SERVERS:
            why = "its image forms the cluster with certificates and accounts of its own"
            yield Unpackable(_PROFILE, f"the term {node.term}", why)
            return
        if "mysql-server" in node.image:
            why = f"the image {node.image} reads no password from a file"
            yield Unpackable(_PROFILE, f"the term {node.term}", why)
            return
    families = {node.component.spec.family for node in plan.databases}
    if len(families) > 1:
        why = "its servers are MySQL and MariaDB, and the client of one image does not know both"
        yield Unpackable(_PROFILE, f"the profile {plan.profile}", why)


def _settings(plan: Plan) -> Iterator[Unpackable]:
    changed = {name: node for node in plan.databases for name in _that_change_container(node)}
    for name, node in changed.items():
        why = f"it changes the container of {node.name}, not only its server"
        yield Unpackable(_PROFILE, f"the setting {name}", why)


def _that_change_container(node: Node) -> list[str]:
    return [name for name, variant in node.applied if variant.service or variant.from_client]


def _keys(plan: Plan) -> Iterator[Unpackable]:
    request = plan.request
    if request.disk:
        yield Unpackable(("disk",), f"disk: {request.disk}", "Compose has no disks of their own")
    if request.links:
        why = "replication between groups is kept up by a script of this tool"
        yield Unpackable(("replicate",), "replicate", why)
    files = [each for each in (request.cnf, *(own.file for own in request.own_files)) if each]
    for file in files:
        if not _is_text(file.content):
            yield Unpackable(("cnf",), f"cnf: {file.name}", "it is no text in UTF-8")


def _is_text(content: str) -> bool:
    """Bytes that are no text stand in it as surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in content)

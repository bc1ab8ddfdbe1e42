"""Plan → the one Compose file that is the stack."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from sandbox.profile.files import (
    QUESTION_SCRIPT,
    NodeFile,
    expected_answer,
    image_user,
    node_files,
    replicating,
    started_as,
    supervised,
)
from sandbox.profile.library import Question, deep_merge
from sandbox.profile.limits import disk_of, limits_of
from sandbox.profile.names import CPU_SHARES, DATA_DIRECTORY, DISK, PROJECT, Identity
from sandbox.profile.own_files import is_replaced
from sandbox.profile.plan import Node, Plan
from sandbox.profile.templates import PLACEHOLDER, Secrets, node_context, render, render_text


@dataclass
class _File:
    """The shared parts of a Compose file while it is built."""

    configs: dict[str, str] = field(default_factory=dict)
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)


def plan_hash(plan: Plan) -> str:
    """Twelve hex digits that identify a stack's content: the file with placeholders, and the user's
    files.
    """
    body = json.dumps(_document(plan, PLACEHOLDER, {}), sort_keys=True)
    extra = plan.request.init.sha256 if plan.request.init else ""
    # A tag of the user's own may be another image tomorrow.
    extra += "".join(node.choice.identity or "" for node in plan.nodes)
    return hashlib.sha256((body + extra).encode()).hexdigest()[:12]


def compose_document(
    plan: Plan, secrets: Secrets, identity: Identity, restored: str | None = None
) -> dict[str, Any]:
    """The Compose file as data: self-contained, labelled, private.

    ``restored``: key of the snapshot that fills the servers' volumes; the servers then set new
    passwords themselves.
    """
    labels = {
        "sandbox.stack": PROJECT,
        "sandbox.checkout": identity.checkout,
        "sandbox.profile": plan.profile,
        "sandbox.plan": plan_hash(plan),
        "sandbox.inputs": _literal(json.dumps(inputs(plan))),
    }
    if restored:
        labels["sandbox.restored"] = restored
    return {"name": identity.project, **_document(plan, secrets, labels, restored is not None)}


def inputs(plan: Plan) -> dict[str, Any]:
    """The user's inputs in addition to the profile; files by name and hash."""
    request = plan.request
    given: dict[str, Any] = {
        "assignments": list(request.assignments),
        "cpus": request.cpus,
        "memory": request.memory,
    }
    images = " ".join(request.images)
    binaries = " ".join(f"{each.word}={each.path}" for each in request.binaries)
    optional = {"cpuset": request.cpuset, "disk": request.disk, "image": images}
    optional |= {"binary": binaries}
    given |= {name: value for name, value in optional.items() if value}
    if request.links:
        given["replicate"] = list(request.links)
    for kind, file in (("cnf", request.cnf), ("init", request.init)):
        if file:
            given |= {f"{kind}_name": file.name, f"{kind}_sha256": file.sha256}
    if request.own_files:
        given["cnf_files"] = {each.typed: each.file.sha256 for each in request.own_files}
    return given


def compose_text(document: Mapping[str, Any]) -> str:
    """The Compose file as YAML; multi-line texts as literal blocks, for readability."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=150, allow_unicode=True)


def _document(
    plan: Plan, secrets: Secrets, labels: dict[str, str], restored: bool = False
) -> dict[str, Any]:
    file = _File()
    contexts = {node.name: node_context(plan, node, secrets) for node in plan.nodes}
    services = {
        node.name: _service(file, plan, node, contexts, labels, restored) for node in plan.nodes
    }
    labelled = {"labels": labels} if labels else {}
    networks: dict[str, Any] = {"stack": {"internal": True, **labelled}}
    if any(group.external for group in plan.groups):
        networks["outside"] = dict(labelled)
    return {
        "services": services,
        "networks": networks,
        "volumes": {name: {**(body or {}), **labelled} for name, body in file.volumes.items()},
        "configs": {name: {"content": _literal(content)} for name, content in file.configs.items()},
    }


def _service(
    file: _File,
    plan: Plan,
    node: Node,
    contexts: Mapping[str, Any],
    labels: dict[str, str],
    restored: bool,
) -> dict[str, Any]:
    context = contexts[node.name]
    declared = node.component.services[node.service]
    for _, variant in node.applied:
        declared = deep_merge(declared, variant.service)
    body = _escaped(render(declared, context, f"compose/{node.component.name}"))
    files = node_files(plan, node, contexts, body.pop("configs", []), restored)
    mounts = [_mount(file, node, each) for each in files]
    disk = disk_of(plan.request, node)
    volumes = [_volume(file, node, entry, disk) for entry in body.pop("volumes", [])]
    volumes += _from_client(file, plan, node)
    service = _basics(plan, node)
    service |= body
    if is_replaced(plan.request, node):
        service.pop("healthcheck", None)  # it asks what the generated file answers
    service |= _started(node, context, service.get("entrypoint", []))
    if mounts:
        service["configs"] = mounts
    if volumes:
        service["volumes"] = volumes
    if node.ready is not None and node.ready.via == "self":
        service.setdefault("healthcheck", _healthcheck(node))
    if labels:
        service["labels"] = {
            **labels,
            "sandbox.node": node.name,
            "sandbox.kind": node.kind,
            "sandbox.about": _literal(json.dumps(about(plan, node, context))),
            **body.get("labels", {}),
        }
    return service


def _basics(plan: Plan, node: Node) -> dict[str, Any]:
    """The keys that every service has before those of its fragment, and its limits."""
    networks = ["stack"]
    if node.kind == "client" and any(group.external for group in plan.groups):
        networks.append("outside")  # nothing else can reach the outside
    basics: dict[str, Any] = {
        "image": node.image,
        "hostname": node.name,
        "networks": networks,
        "restart": "no",
        "cpu_shares": CPU_SHARES,
        "stop_grace_period": f"{node.component.spec.grace_s}s",
    }
    return basics | limits_of(plan.request, node)


def _started(node: Node, context: Mapping[str, Any], own: list[str]) -> dict[str, Any]:
    """The keys that start a service. ``own``: the words that its fragment gives; a server's image
    has its own after them.
    """
    user = image_user(node)
    words = list(own)
    if node.is_server:
        words += _escaped(
            render(node.component.spec.entrypoint, context, f"compose/{node.component.name}")
        )
    if user:
        words = started_as(user, words)
    if node.links:
        words = replicating(words)
    if node.is_server:
        words = supervised(words)
    started: dict[str, Any] = {"user": "root"} if user else {}
    if words:
        started["entrypoint"] = words
    return started


def _healthcheck(node: Node) -> dict[str, Any]:
    return {
        "test": ["CMD", "/bin/sh", QUESTION_SCRIPT, "ready"],
        "interval": "10s",
        "timeout": "5s",
        "retries": 3,
        "start_period": f"{node.component.spec.timeout_s}s",
    }


def _mount(file: _File, node: Node, own: NodeFile) -> dict[str, Any]:
    name = own.source
    # Another node has other content under this name.
    if file.configs.setdefault(name, own.content) != own.content:
        name = f"{node.name}-{own.source.removeprefix(f'{node.component.name}-')}"
        if file.configs.setdefault(name, own.content) != own.content:
            raise AssertionError(f"{name} has two contents")
    mount: dict[str, Any] = {"source": name, "target": own.target, "mode": _Octal(own.mode)}
    return mount | ({"uid": own.owner[0], "gid": own.owner[1]} if own.owner else {})


def _volume(file: _File, node: Node, entry: str, disk: str | None) -> str:
    name, target = entry.split(":", 1)
    body = dict(node.component.volumes.get(name) or {})
    scope = body.pop("x-scope", "node")
    owner = {
        "node": node.name,
        "database": node.watches,
        "group": f"{node.component.name}-{node.group_index}",
    }[scope]
    full = f"{owner}-{name}"
    own_disk = {DISK: disk} if disk and target == DATA_DIRECTORY else {}
    file.volumes[full] = file.volumes.get(full, {}) | body | own_disk
    return f"{full}:{target}"


def _from_client(file: _File, plan: Plan, node: Node) -> list[str]:
    """Mounts of folders of the client's image: volumes, filled by the engine when it creates the
    client's container.
    """
    is_client = node.kind == "client"
    users = plan.nodes if is_client else (node,)
    folders = {
        folder for each in users for _, variant in each.applied for folder in variant.from_client
    }
    names = {
        folder: f"{plan.client.name}-{folder.rpartition('/')[2]}" for folder in sorted(folders)
    }
    file.volumes.update({name: {} for name in names.values()})
    return [f"{name}:{folder}{'' if is_client else ':ro'}" for folder, name in names.items()]


def _literal(text: str) -> str:
    return text.replace("$", "$$")


def _escaped(value: Any) -> Any:
    """``$`` doubled in every string: Compose must interpolate only the project's name."""
    if isinstance(value, str):
        return _literal(value)
    if isinstance(value, Mapping):
        return {key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


class _Octal(int):
    """A file mode, printed in octal."""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Block style for multi-line texts; no aliases, so that every service can be read on its
    own.
    """

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  (the signature is the library's)
        return True


def _text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    )


_Dumper.add_representer(str, _text)
_Dumper.add_representer(
    _Octal, lambda dumper, mode: dumper.represent_scalar("tag:yaml.org,2002:int", f"0{mode:o}")
)


def about(plan: Plan, node: Node, context: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about a node for later commands, kept in the label ``sandbox.about``: no plan has to be
    made again.
    """
    group = plan.group_of(node)
    spec = node.component.spec
    rejoins = ""
    if node.service == node.component.name:
        rejoins = render_text(spec.rejoins, context, f"rejoins of {node.name}")
    topology = "single" if node.is_server else None
    if group and node.kind == "database":
        topology = group.topology
    facts: dict[str, Any] = {
        "term": node.term,
        "component": node.component.name,
        "service": node.service,
        "group": node.group_index,
    }
    if group and node.kind == "database":
        facts["members"] = group.size
    if node.links:
        facts["links"] = {link.channel: link.text for link in node.links}
    facts |= {
        "family": group.family if group and node.is_server else None,
        "topology": topology,
        "origin": node.choice.origin,
        "key": node.choice.key,
        "series": node.series,
        "version": node.version,
    }
    if node.choice.exact:
        facts["exact"] = node.choice.exact
    facts["ports"] = dict(node.ports)
    optional = {"admin_ports": node.admin_ports, "rejoins": rejoins, "host_of": node.host_of}
    facts |= {name: value for name, value in optional.items() if value}
    return facts | {
        "multiplexes": bool(node.options.get("multiplexes", False)),
        "sql_client": spec.sql_client,
        "timeout_s": spec.timeout_s,
        "grace_s": spec.grace_s,
        "ready": node.ready.via if node.ready else None,
        "expected": expected_answer(node.ready, node, context) if node.ready else None,
        "external": group.external if group else None,
        "externals": _externals(plan) if node.kind == "client" else {},
        "proofs": {name: _proof(variant.proof, node, context) for name, variant in node.applied},
    }


def _externals(plan: Plan) -> dict[str, str]:
    return {str(each.index): each.external for each in plan.groups if each.external}


def _proof(question: Question, node: Node, context: Mapping[str, Any]) -> dict[str, str | None]:
    return {"via": question.via, "expect": expected_answer(question, node, context)}

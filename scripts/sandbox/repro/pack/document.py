"""PURE: a repro and a plan → the one Compose file that carries the repro out."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from sandbox.profile.plan import Plan
from sandbox.profile.templates import Secrets
from sandbox.repro.definition import Repro
from sandbox.repro.pack.hosts import Hosts
from sandbox.repro.pack.refusal import Unpackable, UnpackableError
from sandbox.repro.pack.script import reads_logs, repeats, restarts, script_of
from sandbox.repro.pack.servers import LOGS, packed_servers
from sandbox.repro.pack.unpackable import unpackable_parts

LONGEST_DUMP = 1 << 20
"""Characters of a ``load.file`` that still stand in a file that is to be read."""
_WIDTH = 100
SERVICE = "repro"


def packed(repro: Repro, plan: Plan, secrets: Secrets, dump: str | None = None) -> str:
    """The text of the Compose file. ``dump``: the text of ``load.file``.

    Raises UnpackableError for what it cannot say.
    """
    problems = unpackable_parts(plan) + _too_long(repro, dump)
    if problems:
        raise UnpackableError(problems)
    hosts = Hosts(plan)
    logs = reads_logs(repro)
    script = script_of(repro, hosts, dump)
    servers = packed_servers(hosts, secrets, logs, restarts(repro))
    configs = {"steps.sh": script.steps}
    configs |= {"dump.sql": dump} if dump else {}
    configs |= servers.configs
    configs["client.cnf"] = _client_configuration(secrets)
    configs["functions.sh"] = script.functions
    services = {**servers.services, SERVICE: _repro_service(repro, hosts, configs, logs)}
    return "\n".join(
        [
            *_head(repro, plan),
            f"name: {project_of(repro)}",
            "",
            *_services(services),
            *(["", "volumes:", "  logs: {}"] if logs else []),
            "",
            "configs:",
            *_configs(configs),
        ]
    )


def project_of(repro: Repro) -> str:
    """The name of the Compose project, unless another one is given with -p."""
    return re.sub(r"[^a-z0-9_-]+", "-", repro.name.lower()).strip("-_") or SERVICE


def _too_long(repro: Repro, dump: str | None) -> list[Unpackable]:
    if dump is None or len(dump) <= LONGEST_DUMP:
        return []
    why = f"it has {len(dump):,} characters, and at most {LONGEST_DUMP:,} stand in a pack"
    return [Unpackable(("load", "file"), f"load.file: {repro.load.file}", why)]


def _client_configuration(secrets: Secrets) -> str:
    return (
        f"[client]\nuser = root\npassword = {secrets.root}\nprotocol = tcp\n"
        # MariaDB's client verifies certificates from 11.4 on; these servers sign their own.
        "loose_ssl_verify_server_cert = 0\n"
    )


def _repro_service(
    repro: Repro, hosts: Hosts, configs: Mapping[str, str], logs: bool
) -> dict[str, Any]:
    own = ["steps.sh", "functions.sh", "client.cnf"]
    if "password=$(" in configs["steps.sh"]:
        own.append("root-password")
    if "dump.sql" in configs:
        own.append("dump.sql")
    service: dict[str, Any] = {
        "image": hosts.plan.node(hosts.writer).image,
        "entrypoint": ["bash", "/steps.sh"],
        "depends_on": hosts.names,
        "configs": own,
        "stop_signal": "SIGKILL",
    }
    if repeats(repro) > 1:
        service["environment"] = {"REPEAT": str(repeats(repro))}
    if logs:
        service["volumes"] = [f"logs:{LOGS}:ro"]
    return service


def _head(repro: Repro, plan: Plan) -> list[str]:
    servers = ", ".join(f"{node.name} ({node.image})" for node in plan.databases)
    text = [
        repro.title,
        *repro.links,
        "",
        repro.question,
        "",
        "  docker compose -f <this file> up --exit-code-from repro",
        "  docker compose -f <this file> down -v",
        "",
        "Exit code 0: the bug is reproduced; 1: it is fixed; 3: neither, or nobody can say.",
        "New servers for every run: `down -v` before the next one. Docker Compose 2.23.1 or later.",
        f"Servers: {servers}.",
        "Their password was drawn for this file, and they listen in its own network alone.",
    ]
    return [f"# {' '.join(line.split()) if line[:1] != ' ' else line}".rstrip() for line in text]


def _services(services: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Each service; what all servers have alike stands before them, once."""
    servers = [each for name, each in services.items() if name != SERVICE]
    shared = {
        key: value
        for key, value in servers[0].items()
        if len(servers) > 1 and all(each.get(key) == value for each in servers)
    }
    lines = []
    if shared:
        lines += ["x-server: &server", *_entries(shared, "  "), ""]
    lines.append("services:")
    for name, service in services.items():
        own = service
        lines.append(f"  {name}:")
        if name == SERVICE:
            lines[-1:] = ["  # Carries out steps.sh below.", f"  {name}:"]
        elif shared:
            lines.append("    <<: *server")
            own = {key: value for key, value in service.items() if key not in shared}
        lines += _entries(own, "    ")
    return lines


def _entries(mapping: Mapping[str, Any], indent: str) -> list[str]:
    """Keys and values, each value in its line as long as it fits."""
    lines = []
    for key, value in mapping.items():
        line = f"{indent}{key}: {_flow(value)}"
        if len(line) <= _WIDTH or not isinstance(value, list | dict):
            lines.append(line)
        elif isinstance(value, list):
            lines.append(f"{indent}{key}:")
            lines += [f"{indent}  - {_flow(each)}" for each in value]
        else:
            lines.append(f"{indent}{key}:")
            lines += _entries(value, f"{indent}  ")
    return lines


def _flow(value: object) -> str:
    """A value in one line of YAML; Compose takes ``$$`` for a dollar."""
    text = yaml.safe_dump(
        _escaped(value), default_flow_style=True, width=1 << 30, allow_unicode=True,
        sort_keys=False,
    )  # fmt: skip
    return text.removesuffix("...\n").strip()


def _escaped(value: object) -> object:
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, Mapping):
        return {key: _escaped(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [_escaped(each) for each in value]
    return value


_ABOUT = {
    "steps.sh": "The repro.",
    "server.cnf": "The variables that all servers have; those of one alone are in its command.",
    "functions.sh": "What the words of steps.sh mean. Nothing below here is of this bug.",
}


def _configs(configs: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name, content in configs.items():
        if name in _ABOUT:
            lines.append(f"  # {_ABOUT[name]}")
        lines += _config(name, content)
    return [*lines, ""]


def _config(name: str, content: str) -> list[str]:
    """A file's content, as it is wherever YAML can say it so."""
    if "\n" not in content or not _is_block(content):
        return [f"  {name}:", f"    content: {_flow(content)}"]
    # Without a digit YAML takes the first line's blanks for the indentation.
    digit = "2" if content[:1] in (" ", "\n") else ""
    kept = "" if content.endswith("\n") and not content.endswith("\n\n") else "-"
    if content.endswith("\n\n"):
        kept = "+"
    body = content.replace("$", "$$").removesuffix("\n").split("\n")
    lines = [f"      {line}" if line else "" for line in body]
    return [f"  {name}:", f"    content: |{digit}{kept}", *lines]


def _is_block(content: str) -> bool:
    """Whether a literal block holds it: printable text, line breaks and tabs."""
    return all(each.isprintable() or each in "\n\t" for each in content)

"""The files that Compose mounts into a node: the fragment's own, and those that every node of its
kind gets.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from sandbox.profile.data_directory import rotation_sql
from sandbox.profile.names import ROTATION_SQL
from sandbox.profile.plan import Node, Plan
from sandbox.profile.questions import client_questions, node_questions, question_script
from sandbox.profile.templates import Secrets, render_text
from sandbox.profile.variables import effective_variables, server_configuration

FIRST_START = "/docker-entrypoint-initdb.d"
"""Where the images' entrypoints look for files to run before the first real start."""

CLIENT_CHARSET = "[mysql]\ndefault-character-set = utf8mb4\n"
"""For the command-line client of both families: by itself it takes the character set of the locale,
here latin1.

In the server's own folder of configuration the client of its entrypoint reads it too, with the
first-start SQL.
"""

TARGET = "/sandbox/as-user"

SUPERVISOR = files(__package__).joinpath("supervisor.sh").read_text(encoding="utf-8")
"""PID 1 of a database node: outlives its server where a fault says so."""

SCRIPT = """\
#!/bin/sh
# as-user USER PROGRAM [ARGUMENT…]: root hands USER the mounted files, and becomes USER.
set -eu
user=$1
shift
for folder in /sandbox /docker-entrypoint-initdb.d; do
  [ ! -d "$folder" ] || chown -R "$user" "$folder"
done
HOME=$(eval "echo ~$user")
export HOME
exec chroot --userspec="$user" / sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
"""


@dataclass(frozen=True, slots=True)
class NodeFile:
    """One file in a container. ``owner``: (uid, gid) of a file that not everybody may read."""

    source: str
    target: str
    content: str
    mode: int = 0o444
    owner: tuple[str, str] | None = None


def node_files(
    plan: Plan,
    node: Node,
    contexts: Mapping[str, Mapping[str, Any]],
    entries: Iterable[Mapping[str, Any]],
    restored: bool = False,
) -> list[NodeFile]:
    """All files of a node; ``entries`` are the fragment's, rendered. ``restored``: its data comes
    from a snapshot.

    An engine before 23 starts a process for every file (80 ms of CPU), so the first-start SQL (in
    the order of the names), the server's own configuration and a node's questions are one file
    each.
    """
    context = contexts[node.name]
    found = [_of_fragment(node, entry, context) for entry in entries if entry["target"]]
    if node.is_server:
        found += _of_server(node, context)
        found += _rotation_files(node, context) if restored else []
        found = joined(found, node, FIRST_START, ".sql", "10-first-start.sql", "-- ")
        found = joined(found, node, node.component.spec.config_dir, ".cnf", "50-sandbox.cnf", "# ")
        own = plan.request.cnf
        found += (
            [NodeFile("user.cnf", f"{node.component.spec.config_dir}/99-user.cnf", own.content)]
            if own
            else []
        )
        found.append(_own(node, "supervisor", SUPERVISOR))
    if image_user(node):
        found.append(_own(node, "as-user", SCRIPT))
    questions = node_questions(node, plan, context)
    if node.kind == "client":
        questions |= client_questions(plan, contexts)
        passwords = "".join(f"{password}\n" for password in context["secrets"].passwords())
        found.append(_secret(node, "passwords", passwords))
    return [*found, _own(node, "probe", question_script(questions))] if questions else found


def _own(node: Node, name: str, content: str) -> NodeFile:
    shared = name if node.is_server or node.kind == "client" else f"{node.component.name}-{name}"
    return NodeFile(shared, f"/sandbox/{name}", content)


def _secret(node: Node, name: str, content: str) -> NodeFile:
    return NodeFile(name, f"/sandbox/{name}", content, 0o400, (node.uid, node.gid))


def _of_fragment(node: Node, entry: Mapping[str, Any], context: Mapping[str, Any]) -> NodeFile:
    source, where = entry["source"], f"compose/{node.component.name}"
    declared = node.component.configs[source]
    if "content" in declared:
        content = render_text(declared["content"], context, f"{where} config {source}")
    else:
        name = render_text(declared["file"], context, where)
        content = node.component.files[name]
        if name.endswith(".j2"):
            content = render_text(content, context, f"{where}/{name}")
    owner = (str(entry["uid"]), str(entry["gid"])) if "uid" in entry else None
    return NodeFile(
        f"{node.component.name}-{source}", entry["target"], content, entry.get("mode", 0o444), owner
    )


def _of_server(node: Node, context: Mapping[str, Any]) -> list[NodeFile]:
    spec, secrets = node.component.spec, context["secrets"]
    variables = server_configuration(effective_variables(node, context))
    credentials = (
        f"[client]\nuser=root\npassword={secrets.root}\nhost=127.0.0.1\nport=3306\nprotocol=tcp\n"
    )
    if spec.family == "mariadb":
        # Otherwise the client refuses a server without TLS from 11.4 on.
        credentials += "ssl-verify-server-cert=0\n"
    return [
        _secret(node, "root-password", secrets.root),
        _secret(node, "client.cnf", credentials + CLIENT_CHARSET),
        NodeFile("client-charset.cnf", f"{spec.config_dir}/47-client.cnf", CLIENT_CHARSET),
        NodeFile("server.cnf", f"{spec.config_dir}/50-sandbox.cnf", variables),
        *_of_certificate(node, secrets),
        *_of_settings(node, context),
    ]


def _of_certificate(node: Node, secrets: Secrets) -> list[NodeFile]:
    if not (node.has_certificate("itself") and secrets.own_certificate):
        return []
    configuration = "[mysqld]\nssl_cert = /sandbox/own-cert.pem\nssl_key = /sandbox/own-key.pem\n"
    if node.component.spec.family == "mysql":
        # Group Replication does not start without one.
        configuration += "ssl_ca = /sandbox/own-cert.pem\n"
    return [
        _secret(node, "own-cert.pem", secrets.own_certificate),
        _secret(node, "own-key.pem", secrets.own_key),
        NodeFile(
            "certificate.cnf", f"{node.component.spec.config_dir}/48-certificate.cnf", configuration
        ),
    ]


def _rotation_files(node: Node, context: Mapping[str, Any]) -> list[NodeFile]:
    configuration = f"[mysqld]\ninit_file = {ROTATION_SQL}\n"
    return [
        _secret(node, ROTATION_SQL.rpartition("/")[2], rotation_sql(node, context)),
        NodeFile(
            "restored.cnf", f"{node.component.spec.config_dir}/49-restored.cnf", configuration
        ),
    ]


def _of_settings(node: Node, context: Mapping[str, Any]) -> list[NodeFile]:
    where = f"the settings of {node.name}"
    return [
        NodeFile(
            name,
            f"{FIRST_START}/50-{name}.sql",
            render_text(variant.first_start, context, where).strip() + "\n",
        )
        for name, variant in node.applied
        if variant.first_start
    ]


def joined(
    given: list[NodeFile], node: Node, folder: str | None, suffix: str, name: str, comment: str
) -> list[NodeFile]:
    """The files of one folder and suffix joined into one, each under its own name, as secret as the
    most secret.
    """
    parts = [
        file
        for file in given
        if file.target.rpartition("/")[0] == folder and file.target.endswith(suffix)
    ]
    if len(parts) < 2:
        return given
    parts.sort(key=lambda file: file.target)
    content = "\n".join(
        f"{comment}{part.target.rpartition('/')[2]}\n{part.content}" for part in parts
    )
    whole = NodeFile(f"{node.component.name}-{name.partition('-')[2]}", f"{folder}/{name}", content)
    if any(part.mode == 0o400 for part in parts):
        whole = replace(whole, mode=0o400, owner=(node.uid, node.gid))
    return [file for file in given if file not in parts] + [whole]


def image_user(node: Node) -> str | None:
    """The user that the node's published image runs as, if its fragment names one."""
    spec = node.component.spec
    return (spec.auxiliary.get(node.service) or spec).image_user


def started_as(user: str, entrypoint: list[str]) -> list[str]:
    """The words that start a service that runs as its image's user although Compose mounts its
    files; by root.

    Compose asks the engine to give a mounted file to the container's user, and the engine looks
    that user up on its own host, where an image's user does not exist: the container cannot be
    created. Root exists everywhere. So the service starts as root, gives the files to the image's
    user and becomes it before it runs its own entrypoint.
    """
    return ["sh", TARGET, user, *entrypoint]


def supervised(entrypoint: list[str]) -> list[str]:
    """The words that start a database node: its supervisor is PID 1, so that a fault can end the
    server alone.
    """
    return ["bash", "/sandbox/supervisor", *entrypoint]

"""The files that Compose mounts into a node; one of them answers the questions about it."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from sandbox.profile.data_directory import rotation_sql
from sandbox.profile.library import Question
from sandbox.profile.names import LINKS, ROTATION_SQL
from sandbox.profile.own_files import own_files_of, server_file_name, with_own_files
from sandbox.profile.plan import Node, Plan
from sandbox.profile.templates import Secrets, render_text
from sandbox.profile.variables import effective_variables, server_configuration

FIRST_START = "/docker-entrypoint-initdb.d"
"""The folder whose files the images' entrypoints run before the first real start."""

CLIENT_CHARSET = "[mysql]\ndefault-character-set = utf8mb4\n"
"""For the command-line client of both families: by itself it takes the character set of the locale,
here latin1.

In the server's own folder of configuration the client of its entrypoint reads it too, with the
first-start SQL.
"""

ROOT_CNF = "/sandbox/client.cnf"
APP_CNF = "/sandbox/app.cnf"

QUESTION_SCRIPT = "/sandbox/probe"
"""Answers the questions about a node. The name stays: running stacks are asked by it."""
_VERSION = Question(query="select version()")

AS_USER = "/sandbox/as-user"

LINKS_SCRIPT = files(__package__).joinpath("links.sh.j2").read_text(encoding="utf-8")
"""The template of ``LINKS``."""

SUPERVISOR = files(__package__).joinpath("supervisor.sh").read_text(encoding="utf-8")
"""PID 1 of a database node: outlives its server where a fault says so."""

AS_USER_SCRIPT = """\
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
    found = [
        replace(each, content=with_own_files(plan, node, each.target, each.content))
        for each in found
    ]
    if node.is_server:
        found += _of_server(node, context)
        if restored:
            found += _rotation_files(node, context)
        found = joined(found, node, FIRST_START, ".sql", "10-first-start.sql", "-- ")
        found = joined(found, node, node.component.spec.config_dir, ".cnf", "50-sandbox.cnf", "# ")
        own = plan.request.cnf
        if own:
            target = f"{node.component.spec.config_dir}/99-user.cnf"
            found.append(NodeFile("user.cnf", target, own.content))
        found += _own_option_files(plan, node)
        found.append(_own(node, "supervisor", SUPERVISOR))
    if node.links:
        found.append(_links(node, context))
    if image_user(node):
        found.append(_own(node, "as-user", AS_USER_SCRIPT))
    questions = node_questions(node, plan, context)
    if node.kind == "client":
        questions |= client_questions(plan, contexts)
        passwords = "".join(f"{password}\n" for password in context["secrets"].passwords())
        found.append(_secret(node, "passwords", passwords))
    if questions:
        found.append(_own(node, "probe", question_script(questions)))
    return found


def _own_option_files(plan: Plan, node: Node) -> list[NodeFile]:
    """The user's option files for this server alone, or for its term; those of one place as one."""
    contents: dict[str, str] = {}
    for each in own_files_of(plan.request, node):
        contents[each.place] = contents.get(each.place, "") + each.file.content
    folder = node.component.spec.config_dir
    return [
        NodeFile(f"user_{place}.cnf", f"{folder}/{server_file_name(place)}", content)
        for place, content in contents.items()
    ]


def _own(node: Node, name: str, content: str) -> NodeFile:
    shared = name if node.is_server or node.kind == "client" else f"{node.component.name}-{name}"
    return NodeFile(shared, f"/sandbox/{name}", content)


def _secret(node: Node, name: str, content: str) -> NodeFile:
    return NodeFile(name, f"/sandbox/{name}", content, 0o400, (node.uid, node.gid))


def _of_fragment(node: Node, entry: Mapping[str, Any], context: Mapping[str, Any]) -> NodeFile:
    source = entry["source"]
    where = f"compose/{node.component.name}"
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
    spec = node.component.spec
    secrets = context["secrets"]
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
    found = []
    for name, variant in node.applied:
        if variant.first_start:
            sql = render_text(variant.first_start, context, where).strip() + "\n"
            found.append(NodeFile(name, f"{FIRST_START}/50-{name}.sql", sql))
    return found


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
    return ["sh", AS_USER, user, *entrypoint]


def supervised(entrypoint: list[str]) -> list[str]:
    """The words that start a database node: its supervisor is PID 1, so that a fault can end the
    server alone.
    """
    return ["bash", "/sandbox/supervisor", *entrypoint]


def replicating(entrypoint: list[str]) -> list[str]:
    """The words that start a server to which links lead: its links are kept up beside it."""
    return ["bash", LINKS, "start", *entrypoint]


def _links(node: Node, context: Mapping[str, Any]) -> NodeFile:
    content = render_text(LINKS_SCRIPT, context, f"the links of {node.name}")
    return _secret(node, LINKS.rpartition("/")[2], content)


def question_script(questions: Mapping[str, str]) -> str:
    """The `sh` script that answers a node's questions: `sh /sandbox/probe QUESTION`.

    ``questions``: name → shell commands.
    """
    # Not indented: a command may quote multi-line text, such as Python, whose indentation matters.
    cases = "".join(f"{name})\n{commands};;\n" for name, commands in questions.items())
    unknown = f"*) echo 'no such question; here: {' '.join(questions)}' >&2; exit 2 ;;\n"
    return (
        f'#!/bin/sh\n# usage: sh {QUESTION_SCRIPT} QUESTION\ncase "$1" in\n{cases}{unknown}esac\n'
    )


def ask_commands(question: Question, node: Node, plan: Plan, context: Mapping[str, Any]) -> str:
    """Shell commands that print the answer to a question, whatever it is."""
    return f"exec {_command(question, node, plan, context)}\n"


def ready_commands(question: Question, node: Node, plan: Plan, context: Mapping[str, Any]) -> str:
    """Shell commands of a readiness question.

    Exit 0 and the answer if it is the expected one, else exit 1 and its last line.
    """
    expected = expected_answer(question, node, context)
    met = "" if expected is None else f' && [ "$answer" = {shlex.quote(expected)} ]'
    return _listening(question, node) + (
        f"answer=$({_command(question, node, plan, context)} 2>&1) && answered=yes || answered=no\n"
        f'if [ "$answered" = yes ]{met}; then printf \'%s\\n\' "$answer"; exit 0; fi\n'
        "printf '%s\\n' \"${answer:-no answer}\" | tail -n 1\n"
        "exit 1\n"
    )


def _links_ready(node: Node) -> str:
    """Shell commands: exit 1 while a link to the node is not up, with the reason."""
    if not node.links:
        return ""
    return f"bash {LINKS} ready || exit 1\n"


def _state_commands(question: Question, node: Node, plan: Plan, context: Mapping[str, Any]) -> str:
    """Shell commands that print the state; a cluster's does not contain the links to it."""
    group = plan.group_of(node)
    if not node.links or group is None or group.topology == "single":
        return ask_commands(question, node, plan, context)
    return f"{_command(question, node, plan, context)} && exec bash {LINKS} state\n"


def _listening(question: Question, node: Node) -> str:
    """Shell commands: exit 1 while nothing listens on a server's port. A look costs 2 ms, a refused
    client 15.

    Without grep or /proc the status is not 1, and the client finds out. Source: proc(5),
    /proc/net/tcp: address and port in hexadecimal; state 0A is LISTEN.
    """
    if question.query is None or question.via != "self":
        return ""
    port = next(iter(node.ports.values()))
    return (
        f"grep -qs ':{port:04X} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6\n"
        f"[ $? != 1 ] || {{ echo 'nothing listens on port {port} yet'; exit 1; }}\n"
    )


def expected_answer(question: Question, node: Node, context: Mapping[str, Any]) -> str | None:
    """The one answer to a question that means yes; None where a command's exit status decides."""
    if question.expect is None:
        return None
    return render_text(question.expect, context, f"a question about {node.name}")


def _command(question: Question, node: Node, plan: Plan, context: Mapping[str, Any]) -> str:
    where = f"a question about {node.name}"
    if question.query is not None:
        query = " ".join(render_text(question.query, context, where).split())
        return shlex.join([*_sql_client(question, node, plan), "-e", query])
    return shlex.join(render_text(part, context, where) for part in question.command or ["true"])


def _sql_client(question: Question, node: Node, plan: Plan) -> list[str]:
    if question.via == "self":
        return [node.component.spec.sql_client, f"--defaults-file={ROOT_CNF}", "-N", "-B"]
    client = plan.client.component.spec.sql_client
    port = next(iter(node.ports.values()))
    return [client, f"--defaults-file={APP_CNF}", "-h", node.name, "-P", str(port), "-N", "-B"]


def node_questions(
    node: Node, plan: Plan, context: Mapping[str, Any], via: str = "self"
) -> dict[str, str]:
    """The questions in or about a node: ``ready``, ``role``, ``version``, ``state``,
    ``proof-<setting>``.
    """
    questions = {}
    if node.ready is not None and node.ready.via == via:
        questions["ready"] = _links_ready(node) + ready_commands(node.ready, node, plan, context)
    if node.role is not None and node.is_server and via == "self":
        questions["role"] = ask_commands(node.role, node, plan, context)
        questions["version"] = ask_commands(_VERSION, node, plan, context)
    state = node.component.spec.state
    if state is not None and node.is_server and via == "self":
        questions["state"] = _state_commands(state, node, plan, context)
    for name, variant in node.applied:
        if variant.proof.via == via:
            questions[f"proof-{name}"] = ask_commands(variant.proof, node, plan, context)
    return questions


def client_questions(plan: Plan, contexts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The questions about other nodes, asked from the client: ``ready-<node>``,
    ``proof-<setting>-<node>``.
    """
    return {
        f"{question}-{node.name}": commands
        for node in plan.nodes
        for question, commands in node_questions(node, plan, contexts[node.name], "client").items()
    }

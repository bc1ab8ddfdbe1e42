"""The programs' own checks of the user's configuration files, before anything of a stack starts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.core.errors import MachineError, SandboxError
from sandbox.profile.compose import compose_document
from sandbox.profile.names import Identity
from sandbox.profile.own_files import own_files_of, server_files
from sandbox.profile.plan import Node, Plan, UserFile
from sandbox.profile.templates import PLACEHOLDER, node_context, render
from sandbox.profile.versions import at_least
from sandbox.stack.create import unescaped
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import offline_options
from sandbox.stack.naming import identity

_PATIENCE_S = 60.0
_FILE = "/tmp/checked"  # noqa: S108  (in a container of its own)
_SCRIPT = """\
cat >"$1"
chmod 0644 "$1"
for name in $2; do echo "127.0.0.1 $name" >>/etc/hosts; done
shift 2
exec "$@"
"""
"""Every node has an address there: a program that looks names up would refuse them otherwise."""
_NAMES_A_MISTAKE = re.compile(r"\b(alert|error|fatal|unknown)\b", re.IGNORECASE)
_NOISE = re.compile(r"^(\[?\w+\]?\s*\(\d+\)\s*:\s*|[\d-]+[T ][\d:.]+Z?\s*(\d+\s*)?(\[\w+\]\s*)*)")
"""The time, the process and the level, with which programs begin a line."""


@dataclass(frozen=True, slots=True)
class _CheckedFile:
    """A file as its program would read it. ``user_files``: those of the user in it, at its end."""

    node: Node
    content: str
    words: tuple[str, ...]
    user_files: tuple[UserFile, ...]


def refuse_broken_files(plan: Plan, docker: Docker) -> None:
    """Raises SandboxError (exit 2) for a file of CNF= that its program refuses, with its message.

    Each is checked as it will be in the container, in a container of its own without a network; a
    program without a check of its own is not asked. The images are here.
    """
    checks = _checks(plan)
    names = " ".join(node.name for node in plan.nodes)
    begun = []
    for check in checks:
        labels = offline_options(identity("check"), node=check.node.name)
        run = ("run", "--rm", "-i", "--pull", "never", "--user", "0", *labels)
        program = ("--entrypoint", "sh", check.node.image, "-c", _SCRIPT, "sh")
        argv = (*run, *program, _FILE, names, *check.words)
        begun.append((check, docker.begin(*argv, stdin=check.content)))
    for check, pending in begun:
        answer = pending.answer_within(_PATIENCE_S)
        if answer.code == 124:
            what = f"{' '.join(check.words)} does not end within {_PATIENCE_S:g} s"
            raise MachineError(what, "it checks a file of CNF=", "try: the same command again")
        if answer.code:
            raise _refusal(check, f"{answer.stderr}\n{answer.stdout}")


def _checks(plan: Plan) -> list[_CheckedFile]:
    """One for each distinct file and image."""
    request = plan.request
    concerned = [
        node
        for node in plan.nodes
        if own_files_of(request, node) or (node.is_server and request.cnf)
    ]
    if not concerned:
        return []
    document = compose_document(plan, PLACEHOLDER, Identity("check", ""))
    found: dict[tuple[str, str], _CheckedFile] = {}
    for node in concerned:
        spec = node.component.spec.user_file
        if (
            spec is None
            or spec.check is None
            or not at_least(node.version, spec.check.since or "0")
        ):
            continue
        context = node_context(plan, node, PLACEHOLDER) | {"file": _FILE}
        words = tuple(render(spec.check.command, context, f"the check of {node.name}"))
        if spec.target is None:
            files = tuple(server_files(request, node))
            content = _option_files(document, node)
        else:
            files = tuple(each.file for each in own_files_of(request, node))
            content = _content(document, node.name)[spec.target]
        found.setdefault((node.image, content), _CheckedFile(node, content, words, files))
    return list(found.values())


def _content(document: Mapping[str, Any], node: str) -> dict[str, str]:
    """Path → content of the files of a node."""
    mounts = document["services"][node].get("configs", [])
    contents = document["configs"]
    return {each["target"]: unescaped(contents[each["source"]]["content"]) for each in mounts}


def _option_files(document: Mapping[str, Any], node: Node) -> str:
    """A server's option files as one, in the order in which it reads them."""
    folder = f"{node.component.spec.config_dir}/"
    found = _content(document, node.name)
    paths = sorted(path for path in found if path.startswith(folder) and path.endswith(".cnf"))
    return "\n".join(found[path] for path in paths)


def _refusal(check: _CheckedFile, said: str) -> SandboxError:
    names = ", ".join(file.name for file in check.user_files)
    what = f"CNF: {check.node.component.name} {check.node.version} refuses {names}"
    return SandboxError(
        what, _message(check, said), f"try: the same command after a change of {names}"
    )


def _message(check: _CheckedFile, said: str) -> str:
    """The line of the program that names the mistake, with the line of the user's file."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if _NAMES_A_MISTAKE.search(line)] or lines[-1:]
    if not telling:
        return "the program says nothing"
    line = next((each for each in telling if _FILE in each), telling[0])
    line = _NOISE.sub("", line)
    return re.sub(rf"{_FILE}:(\d+)", lambda match: _place(check, int(match[1])), line)


def _place(check: _CheckedFile, number: int) -> str:
    """A line of the checked file as one of the user's files, or of the generated one."""
    at = check.content.split("\n")
    for file in check.user_files:
        own = file.content.rstrip("\n").split("\n")
        first = next(
            (start for start in range(len(at)) if at[start : start + len(own)] == own), None
        )
        if first is not None and first < number <= first + len(own):
            return f"{file.name}:{number - first}"
    return f"line {number} of what is generated"

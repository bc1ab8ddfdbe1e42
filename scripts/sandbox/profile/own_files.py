"""Configuration files of the user (CNF=): for whom they are, what becomes of ours, the proof."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.profile.library import Question, Variant
from sandbox.profile.plan import Node, OwnFile, Plan, PlanRequest, UserFile

_PIECE = re.compile(r"(?:(?P<place>[a-z][a-z0-9-]*)(?P<how>[:!]))?(?P<path>.+)", re.DOTALL)
_EXAMPLE = 'try: make up PROFILE=galera3+haproxy CNF="galera2:my.cnf haproxy:my.cfg"'
LISTENS = Question(
    # The engine's own name server listens in every container, on 127.0.0.11.
    command=[
        "sh",
        "-c",
        "grep -hs ' 0A ' /proc/net/tcp /proc/net/tcp6 | grep -qv ' 0B00007F:'"
        " && echo listens || { echo 'nothing listens yet'; exit 1; }",
    ],
    expect="listens",
)
"""Readiness of a program whose configuration is the user's: nothing else is known of it."""


@dataclass(frozen=True, slots=True)
class AskedFile:
    """One file of CNF= before it is read; without ``place`` it is for every server."""

    path: str
    place: str | None = None
    instead: bool = False


def split_files(text: str) -> list[AskedFile]:
    """``my.cnf galera2:other.cnf haproxy!my.cfg`` → its files.

    Raises SandboxError (exit 2) for a text that a shell would not split, or two files for every
    server.
    """
    try:
        pieces = shlex.split(text)
    except ValueError as problem:
        known = "files separated by blanks, quoted as in a shell"
        raise SandboxError(f"CNF={text} cannot be split: {problem}", known, _EXAMPLE) from problem
    found = []
    for piece in pieces:
        match = _PIECE.fullmatch(piece)
        if match is None:
            raise SandboxError("CNF= names a file without a name", "a path", _EXAMPLE)
        found.append(AskedFile(match["path"], match["place"], match["how"] == "!"))
    if sum(each.place is None for each in found) > 1:
        known = "one file is for every server; others have a name before them, such as galera2:"
        raise SandboxError(f"CNF={text} has two files for every server", known, _EXAMPLE)
    return found


def own_files_of(request: PlanRequest, node: Node) -> list[OwnFile]:
    """The files that name a node: those of its term first, then its own."""
    if node.service != node.component.name:
        return []
    return [
        each
        for place in (node.component.name, node.name)
        for each in request.own_files
        if each.place == place
    ]


def server_files(request: PlanRequest, node: Node) -> list[UserFile]:
    """The option files that a server reads after ours, in their order."""
    common = [request.cnf] if request.cnf else []
    return common + [each.file for each in own_files_of(request, node)]


def server_file_name(place: str) -> str:
    """The name in a server's folder of option files, which it reads in the order of their names:
    after ``99-user.cnf``, a term before a node.
    """
    return f"99-user_{place}.cnf"


def with_own_files(plan: Plan, node: Node, target: str, content: str) -> str:
    """The content of a generated file, with what the user adds to it, or has in its place."""
    spec = node.component.spec.user_file
    files = own_files_of(plan.request, node)
    if spec is None or spec.target != target:
        return content
    for each in files:
        if each.instead:
            content = each.file.content
    added = [each.file for each in files if not each.instead]
    if not added:
        return content
    if spec.added == "merged":
        return _merged(content, added)
    return content.rstrip("\n") + "\n" + _appendix(added)


def _appendix(files: list[UserFile]) -> str:
    return "".join(f"\n# CNF {file.name}\n{file.content}" for file in files)


def _merged(content: str, files: list[UserFile]) -> str:
    """A JSON object with the keys of others laid over it, a line for each key."""
    merged: dict[str, Any] = json.loads(content)
    for file in files:
        merged |= json.loads(file.content)
    return "{\n" + ",\n".join(_lines(merged)) + "\n}\n"


def _lines(keys: Mapping[str, Any]) -> Iterator[str]:
    return (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in keys.items())


def is_replaced(request: PlanRequest, node: Node) -> bool:
    """Whether a file of the user's is in place of the generated one."""
    return any(each.instead for each in own_files_of(request, node))


def taken_in(plan: Plan, node: Node) -> Node:
    """The node with the proof of its own files, and a readiness question that knows nothing of a
    file in place of ours.
    """
    files = own_files_of(plan.request, node)
    if not files:
        return node
    proof = (f"{node.component.name}-CNF", Variant(proof=_proof(node, files)))
    node = replace(node, applied=(*node.applied, proof))
    return replace(node, ready=LISTENS) if is_replaced(plan.request, node) else node


def _proof(node: Node, files: list[OwnFile]) -> Question:
    """The end of the file in the container is what the user gave, and the program has that file."""
    spec = node.component.spec.user_file
    if spec is None or spec.target is None:
        return _proof_of_server(node, files)
    path = shlex.quote(spec.target)
    added = [each.file for each in files if not each.instead]
    if added and spec.added == "merged":
        keys: dict[str, Any] = {}
        for file in added:
            keys |= json.loads(file.content)
        wanted = " ".join(f"-e {shlex.quote(line)}" for line in _lines(keys))
        command = f"sed 's/,$//' {path} | grep -cxF {wanted}"
        expect = str(len(keys))
    else:
        content = _appendix(added)
        if not added:
            content = next(each.file.content for each in files)
        size = len(content.encode())
        command = f"tail -c {size} {path} | sha256sum | cut -c 1-64"
        expect = _sha256(content)
    if spec.running:
        command = f"{spec.running} || {{ echo 'it runs with another file'; exit 1; }}; {command}"
    return Question(command=["sh", "-c", f"{{% raw %}}{command}{{% endraw %}}"], expect=expect)


def _proof_of_server(node: Node, files: list[OwnFile]) -> Question:
    """The server's option files are there as given; it reads every file of that folder."""
    by_place: dict[str, str] = {}
    for each in files:
        by_place[each.place] = by_place.get(each.place, "") + each.file.content
    folder = node.component.spec.config_dir
    paths = [f"{folder}/{server_file_name(place)}" for place in by_place]
    command = f"cat {' '.join(paths)} | sha256sum | cut -c 1-64"
    return Question(command=["sh", "-c", command], expect=_sha256("".join(by_place.values())))


def _sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def refuse_misplaced_files(plan: Plan) -> None:
    """Raises SandboxError (exit 2) for a file of a node that the plan does not have, or whose
    program takes none, or that cannot be added.
    """
    main = [node for node in plan.nodes if node.service == node.component.name]
    takers = [node for node in main if node.component.spec.user_file]
    for each in plan.request.own_files:
        named = [node for node in main if each.place in (node.name, node.component.name)]
        step = f"try: make plan PROFILE={plan.profile}   (lists its nodes)"
        possible = {name for node in takers for name in (node.name, node.component.name)}
        if not named:
            what = f"CNF: '{each.place}' is no node of the profile {plan.profile}"
            raise SandboxError(what, did_you_mean(each.place, possible), step)
        _refuse_file(each, named[0], possible)
    for node in main:
        instead = [each for each in own_files_of(plan.request, node) if each.instead]
        if len(instead) > 1:
            what = f"CNF: {instead[0].typed} and {instead[1].typed} are both for {node.name}"
            raise SandboxError(what, "one file can be in place of the generated one", _EXAMPLE)


def _refuse_file(asked: OwnFile, node: Node, possible: set[str]) -> None:
    spec = node.component.spec.user_file
    if spec is None:
        what = f"CNF: {node.component.name} takes no file of your own"
        raise SandboxError(what, f"these do: {', '.join(sorted(possible))}", _EXAMPLE)
    if asked.instead and spec.target is None:
        what = f"CNF: {asked.typed}: what is generated for a server cannot be replaced"
        known = "the cluster forms by it; a file of your own is read after it, and wins"
        raise SandboxError(what, known, f"try: CNF={asked.place}:{asked.file.name}")
    if spec.added == "merged":
        _refuse_no_object(asked)


def _refuse_no_object(asked: OwnFile) -> None:
    """Raises SandboxError (exit 2) for a file that is no JSON object."""
    step = f"try: python3 -m json.tool {asked.file.name}"
    try:
        content = json.loads(asked.file.content)
    except json.JSONDecodeError as problem:
        what = f"CNF: {asked.file.name}:{problem.lineno} is not JSON"
        raise SandboxError(what, problem.msg, step) from problem
    if not isinstance(content, dict):
        what = f"CNF: {asked.file.name} is no JSON object"
        raise SandboxError(what, 'such as {"RecoveryPeriodBlockSeconds": 5}', step)

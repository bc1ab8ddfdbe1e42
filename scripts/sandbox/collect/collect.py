"""Takes the evidence of a running stack: all nodes at once, each question for a bounded time."""

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.resources import files as files_of
from pathlib import Path
from typing import Any

from sandbox import __version__
from sandbox.collect import in_helper
from sandbox.collect.archive import EvidenceFolder, evidence_folder, pack
from sandbox.collect.plan import (
    CORE_LIMIT_S,
    DEADLINE_S,
    CollectOptions,
    PlanOfNode,
    pairs_in,
    plan_of,
    request_of,
)
from sandbox.collect.readme import README, STACK, Titles, readme
from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.record.redaction import mask_variables
from sandbox.stack.client_python import script_argv
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import ExecResult, Note, OnEvent, RunningStack, StackNode, Stream

Further = Callable[[], Mapping[str, str]]
"""Makes files: name → text."""
_OVERTIME_S = 3.0
"""For the start and the end of a container beside a node."""
_FUNCTIONS = files_of(in_helper).joinpath("look.sh").read_text(encoding="utf-8")
_STOPPED = """
cd /var/lib/mysql || exit
ls -la --time-style=full-iso
for file in *.err *.log; do
  case $file in tc.log | ddl_recovery.log) continue ;; esac
  [ -s "$file" ] || continue
  printf '==> %s <==\\n' "$file"
  tail -c 5000000 "$file"
done
"""


@dataclass(frozen=True, slots=True)
class CollectedEvidence:
    """What was taken. ``files``: path → bytes; ``missing``: path or node → why it is not there."""

    archive: Path
    length: int
    """Of the archive, bytes."""
    seconds: float
    nodes: tuple[str, ...]
    files: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def collect(
    stack: RunningStack,
    archive: Path,
    options: CollectOptions,
    on_event: OnEvent = lambda _: None,
    also: Further = dict,
) -> CollectedEvidence:
    """Writes the evidence of a stack, whatever state it is in, into an archive (.tar.zst).

    ``also``: makes further files meanwhile. Raises SandboxError: exit 2 for an unknown node; exit 4
    where the archive cannot be written, or the stack's passwords, which have to be masked, cannot
    be read.
    """
    began_s = time.monotonic()
    nodes = _chosen(stack, options)
    with evidence_folder(archive, stack.secrets()) as folder:
        _take_all(stack, nodes, options, folder, on_event, also)
        names = tuple(node.name for node in nodes)
        titles = Titles(
            stack.name, stack.profile, f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}",
            f"sandbox {__version__}",
        )  # fmt: skip
        _put_in_order(folder, names)
        folder.write(README, readme(titles, nodes, folder.files, folder.missing))
        _put_in_order(folder, names)
        length = pack(folder, archive, archive.name.partition(".")[0])
        return CollectedEvidence(
            archive, length, time.monotonic() - began_s, names, folder.files, folder.missing
        )


def _chosen(stack: RunningStack, options: CollectOptions) -> list[StackNode]:
    nodes = {node.name: node for node in stack.nodes()}
    for name in options.nodes:
        if name not in nodes:
            step = f"try: make collect{name_option(stack.name)} NODES={next(iter(nodes))}"
            what = f"the stack '{stack.name}' has no node '{name}'"
            raise SandboxError(what, did_you_mean(name, nodes), step)
    return [node for node in nodes.values() if node.name in (options.nodes or nodes)]


def _take_all(
    stack: RunningStack,
    nodes: list[StackNode],
    options: CollectOptions,
    folder: EvidenceFolder,
    on_event: OnEvent,
    also: Further,
) -> None:
    """All nodes at once, and two things of each: a log may be long, an answer late."""
    streams: list[Stream] = []
    with ThreadPoolExecutor(max_workers=2 * len(nodes) + 2) as pool:
        owners = {pool.submit(_of_stack, stack, folder): STACK}
        owners[pool.submit(_put, also, folder)] = STACK
        for node in nodes:
            owners[pool.submit(_by_engine, stack, node, folder)] = node.name
            parts = (stack, node, options, folder, streams)
            owners[pool.submit(_by_node, *parts)] = node.name
        try:
            _wait(owners, folder, on_event)
        except BaseException:  # Ctrl-C: what runs beside the nodes ends
            for stream in streams:
                stream.kill()
            raise
    folder.close()


def _wait(owners: Mapping["Future[None]", str], folder: EvidenceFolder, on_event: OnEvent) -> None:
    """Until all is there; says so of each node once it is."""
    began_s = time.monotonic()
    left = Counter(owners.values())
    for part in as_completed(owners):
        name = owners[part]
        try:
            part.result()
        except (SandboxError, TimeoutError, OSError) as problem:
            folder.lacks(name, _text_of(problem))
        left[name] -= 1
        if not left[name] and name != STACK:
            own = [path for path in [*folder.files] if path.startswith(f"{name}/")]
            without = [path for path in [*folder.missing] if f"{path}/".startswith(f"{name}/")]
            more = f", {len(without)} could not be had" if without else ""
            seconds = time.monotonic() - began_s
            on_event(Note(f"{name}: {len(own)} files{more}, {seconds:.1f} s"))


def _put(also: Further, folder: EvidenceFolder) -> None:
    for name, text in also().items():
        folder.write(name, text)


def _of_stack(stack: RunningStack, folder: EvidenceFolder) -> None:
    """The stack as a whole. A node that hangs takes each question's patience: all at once."""
    with ThreadPoolExecutor(max_workers=3) as pool:
        roles = pool.submit(stack.roles)
        readiness = pool.submit(stack.readiness)
        states = pool.submit(stack.server_states)
        known: dict[str, Any] = {
            "name": stack.name,
            "project": stack.project,
            "profile": stack.profile,
            "inputs": stack.inputs.model_dump(mode="json"),
            "engine": asdict(stack.engine()),
            "roles": dict(roles.result()),
            "readiness": {name: asdict(each) for name, each in readiness.result().items()},
            "states": {name: asdict(each) for name, each in states.result().items()},
            "nodes": [asdict(node) for node in stack.nodes()],
        }
    folder.write("stack.json", json.dumps(known, indent=2, default=str) + "\n")


def _by_engine(stack: RunningStack, node: StackNode, folder: EvidenceFolder) -> None:
    """What the engine says of a node, also of one that has ended."""
    if not node.has_container:
        return
    control = stack.control(node.name)
    is_stopped = control.state().startswith(("exited", "created", "dead"))
    parts: dict[str, Callable[[], str]] = {
        "container.json": lambda: _described(stack.described(node.name)),
        "log.txt": lambda: stack.log(node.name),
    }
    if node.is_server and is_stopped:
        parts["stopped-data-directory.txt"] = lambda: _output(control.in_volumes(_STOPPED))
    for file, text_of in parts.items():
        name = f"{node.name}/{file}"
        try:
            folder.write(name, text_of())
        except (SandboxError, TimeoutError) as problem:
            folder.lacks(name, _text_of(problem))


def _output(answer: ExecResult) -> str:
    return answer.stdout + answer.stderr


def _text_of(problem: Exception) -> str:
    if isinstance(problem, SandboxError):
        return f"{problem.what}: {problem.known}"
    return f"{type(problem).__name__}: {problem}"


def _described(described: Mapping[str, Any]) -> str:
    return json.dumps(without_environment(described), indent=2) + "\n"


def without_environment(described: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's description of a container; variables that sound secret are masked."""
    config = dict(described.get("Config") or {})
    pairs = [str(each).partition("=") for each in config.get("Env") or ()]
    shown = mask_variables({name: value for name, _, value in pairs}, ())
    config["Env"] = [f"{name}={value}" for name, value in shown.items()]
    return {**described, "Config": config}


def _by_node(
    stack: RunningStack,
    node: StackNode,
    options: CollectOptions,
    folder: EvidenceFolder,
    streams: list[Stream],
) -> None:
    """What the node itself says, and what is seen beside it."""
    state = stack.control(node.name).state() if node.has_container else "external"
    plan = plan_of(node, state, options)
    for file, reason in plan.left_out.items():
        folder.lacks(node.name if file == "." else f"{node.name}/{file}", reason)
    stream: Stream | None = None
    if plan.sql or plan.beside or plan.core:
        at = node.name
        if not node.has_container:  # it is asked from the client
            at = next(each.name for each in stack.nodes() if each.kind == "client")
        stream = stack.stream_within(at, script_argv(in_helper.__name__, "look"))
        streams.append(stream)
        stream.send(json.dumps(request_of(plan, _FUNCTIONS)))
    _ask_inside(stack, plan, folder)
    if stream is not None:
        _read(stream, plan, folder)


def _ask_inside(stack: RunningStack, plan: PlanOfNode, folder: EvidenceFolder) -> None:
    for piece in plan.inside:
        name = f"{plan.node.name}/{piece.file}"
        try:
            argv = ["sh", "-c", piece.script]
            answer = stack.run(plan.node.name, argv, timeout_s=piece.limit_s)
        except TimeoutError as late:
            folder.lacks(name, str(late))
            continue
        if answer.stdout:
            folder.write(name, answer.stdout)
        else:
            folder.lacks(name, answer.last_error or f"exit code {answer.code}")


def _read(stream: Stream, plan: PlanOfNode, folder: EvidenceFolder) -> None:
    """The answers as they come. What was asked and is never heard of has the reason."""
    limit_s = DEADLINE_S + _OVERTIME_S + (2 * CORE_LIMIT_S if plan.core else 0)
    watch = threading.Timer(limit_s, stream.kill)
    watch.start()
    answers = _AnswersOfNode(plan, folder)
    try:
        for line in stream.lines():
            answers.take(line)
    finally:
        watch.cancel()
        stream.close_stdin()
        with suppress(TimeoutError):
            stream.wait(_OVERTIME_S)
    answers.end()


class _AnswersOfNode:
    """The answers of one node."""

    def __init__(self, plan: PlanOfNode, folder: EvidenceFolder) -> None:
        self._plan = plan
        self._folder = folder
        self._pairs = pairs_in(plan)
        self._heard: set[str] = set()
        self._is_done = False
        self._said = ""
        """The last line that is no answer: of the engine, or of Python."""

    def take(self, line: str) -> None:
        """One line."""
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self._said = line.strip() or self._said
            return
        self._is_done = self._is_done or "done" in answer
        file = answer.get("file") or answer.get("missing")
        if file is None:
            return
        self._heard.add(file)
        name = f"{self._plan.node.name}/{file}"
        if "reason" in answer:
            self._folder.lacks(name, answer["reason"])
        elif "base64" in answer:
            self._folder.write_part(name, base64.b64decode(answer["base64"]))
        elif answer["text"]:  # a script may have nothing to say of a node
            self._folder.write(name, answer["text"], file in self._pairs)

    def end(self) -> None:
        """Notes what never came."""
        name = self._plan.node.name
        if not self._heard and not self._is_done:
            self._folder.lacks(name, self._said or "nothing could be started beside it")
            return
        for piece in (*self._plan.sql, *self._plan.beside):
            if piece.file not in self._heard:
                self._folder.lacks(f"{name}/{piece.file}", f"no answer within {DEADLINE_S:g} s")


def _put_in_order(folder: EvidenceFolder, nodes: tuple[str, ...]) -> None:
    """The stack's files first, then node by node, as they are listed."""

    def place(path: str) -> tuple[bool, int, str]:
        node = path.partition("/")[0]
        return (path != README, nodes.index(node) + 1 if node in nodes else 0, path)

    for known in (folder.files, folder.missing):
        ordered: dict[str, Any] = {path: known[path] for path in sorted(known, key=place)}
        known.clear()
        known.update(ordered)

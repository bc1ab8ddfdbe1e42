"""Breaks nodes of a running stack and heals them; each breakage is written down before it
happens.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

from sandbox.core.errors import MachineError, SandboxError, counted
from sandbox.failure.fault import (
    Fault,
    FaultRequest,
    Injection,
    Peer,
    Scene,
    fault_named,
    refuse_broken,
    refuse_kind,
    refuse_unable,
)
from sandbox.failure.targets import with_host
from sandbox.stack.journal import Breakage, breakages, forget_breakage, note_breakage, unreadable
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import NodeControl, RunningStack

Answer = TypeVar("Answer")
Subject = TypeVar("Subject")
LOOK_S = 1.0
"""How often it looks for containers that have started anew."""
NotHealed = tuple[Breakage, BaseException]
"""A breakage that cannot be healed, and why."""


class Breaking(Protocol):
    """The interface that injects faults during a trial: in this process, or in a guard that
    survives it.
    """

    def prepare(self, key: str, request: FaultRequest) -> None:
        """Prepares an injection, so that it takes no longer than it must; breaks nothing. Replaces
        the key's last one.

        Raises SandboxError: exit 2 for a fault that is not valid or cannot hit a node, exit 3 where
        the kernel lacks what it needs, exit 4 where the engine refuses.
        """

    def inject(self, key: str) -> Injection:
        """Injects what was prepared. Raises SandboxError (exit 4); what is broken then is healed
        like all else.
        """

    def heal(self, key: str) -> int:
        """Heals it; the time at which that was done, ns on the monotonic clock. Raises SandboxError
        (exit 4).
        """

    def close(self) -> None:
        """Heals whatever is broken still. Raises SandboxError (exit 4) for what cannot be healed,
        once all else is.
        """


@dataclass
class _Prepared:
    """A fault that can be injected at once. ``broken``: what is written down, and not healed
    yet.
    """

    request: FaultRequest
    fault: Fault
    nodes: Mapping[str, NodeControl]
    scene: Scene
    before: Mapping[str, dict[str, str]]
    broken: list[Breakage] = field(default_factory=list)


class Breaker(Breaking):
    """Breaks and heals from this process; `heal_recorded` of any later process undoes what it
    leaves.
    """

    def __init__(self, stack: RunningStack, is_able: bool = False) -> None:
        """``is_able``: what the kernel can do was checked already."""
        self._stack = stack
        self._is_able = is_able
        self._prepared: dict[str, _Prepared] = {}
        self._injected: list[str] = []
        """Keys, the latest last."""
        self._turn = threading.Lock()
        """Held while something is injected or healed."""
        self._settling: list[threading.Thread] = []
        self._follower: threading.Thread | None = None
        self._closed = threading.Event()

    def prepare(self, key: str, request: FaultRequest) -> None:
        fault = fault_named(request.fault, request.options)
        if fault.befalls_host():
            request = replace(request, nodes=with_host(self._stack.nodes(), request.nodes))
        nodes = {name: self._stack.control(name) for name in request.nodes}
        for node in nodes.values():
            refuse_kind(request.fault, node.name, node.kind)
        if not self._is_able:
            refuse_unable(self._stack.lacking, request.fault)
        scene = self._scene(request.nodes)
        if fault.lives_in_container and not self._follower:
            self._follower = threading.Thread(
                target=self._follow, args=(self._stack.starts(),), daemon=True
            )
            self._follower.start()
        try:
            before = _at_once(
                lambda node: self._before(request, fault, node, scene), list(nodes.values())
            )
            known = dict(zip(nodes, before, strict=True))
            earlier = self._prepared.get(key)
            self._prepared[key] = _Prepared(request, fault, nodes, scene, known)
        except BaseException:
            self._release(nodes)
            raise
        self._release(earlier.nodes if earlier else {})

    def inject(self, key: str) -> Injection:
        aim = self._prepared[key]
        refuse_broken(self._stack, aim.request)
        if aim.fault.lives_in_container:
            # A node that was down a second ago may run now.
            aim.scene = self._scene(aim.request.nodes, aim.scene.peers)
        with self._turn:
            self._injected.append(key)
            self._note(aim)
            nodes = list(aim.nodes.values())
            began_ns = time.monotonic_ns()
            _at_once(partial(aim.fault.inject, scene=aim.scene), nodes)
            ended_ns = time.monotonic_ns()
        looked = zip(
            aim.nodes,
            _at_once(lambda node: aim.fault.missing_effect(node, aim.scene), nodes),
            strict=True,
        )
        return Injection(began_ns, ended_ns, {name: missing for name, missing in looked if missing})

    def heal(self, key: str) -> int:
        problems = self._heal(key)
        healed_ns = time.monotonic_ns()
        if problems:
            raise not_healed(problems, self._stack.name)
        return healed_ns

    def close(self) -> None:
        self._closed.set()
        problems = [problem for key in reversed(self._injected) for problem in self._heal(key)]
        for each in self._settling:
            each.join()
        idle = {
            name: node
            for each in self._prepared.values()
            if not each.broken
            for name, node in each.nodes.items()
        }
        self._prepared = {key: each for key, each in self._prepared.items() if each.broken}
        try:
            self._release(idle)
        finally:
            if problems:
                raise not_healed(problems, self._stack.name)

    def _follow(self, known: Mapping[str, str]) -> None:
        """Injects again what ended with a container, once it has started anew; what fails is tried
        again.
        """
        while not self._closed.wait(LOOK_S):
            with suppress(SandboxError):
                now = self._stack.starts()
                self._inject_again({name for name, _ in now.items() - known.items()})
                known = now

    def _inject_again(self, started: Set[str]) -> None:
        with self._turn:
            for aim in (self._prepared[key] for key in self._injected):
                nodes = [aim.nodes[each.node] for each in aim.broken if each.node in started]
                if aim.fault.lives_in_container and nodes:
                    aim.scene = self._scene(aim.request.nodes, aim.scene.peers)
                    _at_once(partial(aim.fault.inject, scene=aim.scene), nodes)

    def _scene(self, targets: Sequence[str], known: Sequence[Peer] = ()) -> Scene:
        """The stack as it is now. ``known``: peers as they were; one that is down now keeps its
        address.
        """
        nodes = [node for node in self._stack.nodes() if node.has_container]
        addresses = _at_once(lambda node: self._stack.control(node.name).address(), nodes)
        now = {
            node.name: Peer(node.name, node.kind, at)
            for node, at in zip(nodes, addresses, strict=True)
            if at
        }
        peers = {peer.name: peer for peer in known} | now
        return Scene(
            tuple(targets), list(peers.values()), {node.name: node.group_index for node in nodes}
        )

    def _before(
        self, request: FaultRequest, fault: Fault, node: NodeControl, scene: Scene
    ) -> dict[str, str]:
        """The facts that its heal will need: where it has the same fault until just before, as it
        was before that one.
        """
        for key in self._injected:
            other = self._prepared[key]
            alike = other.request.fault == request.fault and (
                fault.same_before or other.fault == fault
            )
            if alike and node.name in other.before:
                return other.before[node.name]
        return fault.before(node, scene)

    def _note(self, aim: _Prepared) -> None:
        given = {
            "project": self._stack.project,
            "fault": aim.request.fault,
            "options": dict(aim.request.options),
        }
        aim.broken = [
            Breakage(**given, node=name, before=before) for name, before in aim.before.items()
        ]
        try:
            for each in aim.broken:
                note_breakage(each)
        except OSError as problem:
            what = f"{aim.request.fault} is not injected: it cannot be written down first"
            raise MachineError(what, str(problem), "try: make doctor") from problem

    def _heal(self, key: str) -> list[NotHealed]:
        """Heals what it can on every node of an injection, at once."""
        aim = self._prepared[key]
        with self._turn:
            done = _outcomes(
                lambda each: _heal_one(aim.fault, aim.nodes[each.node], each), aim.broken
            )
            problems = []
            for each, future in zip(aim.broken, done, strict=True):
                problem = future.exception()
                if problem is not None:
                    problems.append((each, problem))
            self._settle(aim)
            aim.broken = [each for each, _ in problems]
            if key in self._injected and not problems:
                del self._prepared[key]
                self._injected = [other for other in self._injected if other != key]
        return problems

    def _settle(self, aim: _Prepared) -> None:
        """Follows what outlasts the heal beside the trial, which has the time of the heal at
        once.
        """
        for each in aim.broken if aim.fault.outlasts_heal else ():
            thread = threading.Thread(
                target=_settle_one, args=(aim.fault, aim.nodes[each.node]), daemon=True
            )
            self._settling.append(thread)
            thread.start()

    def _release(self, nodes: Mapping[str, NodeControl]) -> None:
        """Removes helpers that nothing else uses."""
        used = {name for each in self._prepared.values() for name in each.nodes}
        _at_once(
            lambda node: node.release(), [node for name, node in nodes.items() if name not in used]
        )


def heal_recorded(
    stack: RunningStack,
    on_heal: Callable[[Breakage], None],
    on_wait: Callable[[str], None] = lambda _: None,
) -> SandboxError | None:
    """Heals what is broken in a stack by what was written down, the latest first; returns what
    could not be healed.

    Then it waits for what outlasts a heal, for a minute or two; ``on_wait`` gets the node.
    """
    there = {node.name for node in stack.nodes()}
    problems = list[NotHealed]()
    lasting: list[tuple[Fault, NodeControl]] = []
    for each in reversed(breakages(stack.project)):
        try:
            if each.node in there:  # a fault ends with its node
                fault = fault_named(each.fault, each.options)
                node = stack.control(each.node)
                _heal_one(fault, node, each)
                lasting += [(fault, node)] if fault.outlasts_heal else []
            forget_breakage(each)
        except Exception as problem:  # noqa: BLE001  (the others must not stay broken for it)
            problems.append((each, problem))
        else:
            on_heal(each)
    for _, node in lasting:
        on_wait(node.name)
    _at_once(lambda each: _settle_one(*each), lasting)
    lost = [f"{path}: {reason}" for path, reason in unreadable(stack.project).items()]
    return not_healed(problems, stack.name, lost) if problems or lost else None


def release_helpers(stack: RunningStack) -> None:
    """Removes helpers that a killed trial and its guard have left: a fault starts its own again."""
    _at_once(
        lambda node: node.release(),
        [stack.control(node.name) for node in stack.nodes() if node.has_container],
    )


def not_healed(problems: Sequence[NotHealed], name: str, lost: Sequence[str] = ()) -> MachineError:
    """The error for faults of a stack that stay. ``lost``: files that cannot be read, each with the
    reason.
    """
    texts = [each.text for each, _ in problems] + (
        [f"{counted(len(lost), 'file')} that cannot be read"] if lost else []
    )
    reasons = [f"{each.node}: {_reason(problem)}" for each, problem in problems] + list(lost)
    option = name_option(name)
    step = (
        f"try: make heal{option}   (again; make down{option} removes the stack with what is broken)"
    )
    return MachineError(f"not healed: {', '.join(texts)}", "; ".join(reasons), step)


def _reason(problem: BaseException) -> str:
    if isinstance(problem, SandboxError):
        return f"{problem.what} ({problem.known})"
    return f"{type(problem).__name__}: {problem}".removesuffix(": ")


def _heal_one(fault: Fault, node: NodeControl, breakage: Breakage) -> None:
    paused = fault.heals_inside and node.state().startswith("paused")  # by another fault
    if paused:
        node.unpause()
    try:
        fault.heal(node, breakage.before)
    finally:
        if paused:
            node.pause()
    forget_breakage(breakage)


def _settle_one(fault: Fault, node: NodeControl) -> None:
    """A server that does not come back is what whoever waits for the stack says."""
    with suppress(SandboxError):
        fault.settle(node)


def _at_once(do: Callable[[Subject], Answer], subjects: Sequence[Subject]) -> list[Answer]:
    """Does something to several nodes at the same time; once all are done, raises what the first of
    them raised.
    """
    try:
        return [future.result() for future in _outcomes(do, subjects)]
    except TimeoutError as late:
        raise MachineError(
            "a node does not answer", str(late) or "it took too long", "try: make ps"
        ) from late


def _outcomes(do: Callable[[Subject], Answer], subjects: Sequence[Subject]) -> list[Future[Answer]]:
    """How it went, for each. An interruption waits for all of them: what is done here is not left
    half done.
    """
    futures: list[Future[Answer]] = [Future() for _ in subjects]
    try:
        for future, subject in zip(futures, subjects, strict=True):
            threading.Thread(target=_fulfil, args=(future, do, subject)).start()
        wait(futures)
    except BaseException:
        # A thread pool forgets a thread that had begun when its start was interrupted.
        begun = [future for future in futures if not future.cancel()]
        _wait_through(begun)
        raise
    return futures


def _fulfil(future: Future[Answer], do: Callable[[Subject], Answer], subject: Subject) -> None:
    """Does it for one of them, unless it was interrupted before."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(do(subject))
    except BaseException as problem:  # noqa: BLE001  (whoever waits decides)
        future.set_exception(problem)


def _wait_through(futures: Sequence[Future[Answer]]) -> None:
    """Waits for all of them; only then it raises an interruption, however often it comes."""
    try:
        wait(futures)
    except BaseException:
        _wait_through(futures)
        raise

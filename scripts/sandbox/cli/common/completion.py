"""Shell completion of options and arguments; without Docker, or with a broken file, it proposes
nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

# Imports are late, for start-up time: a shell asks at every key, and each answer needs a few
# modules only.
if TYPE_CHECKING:
    from sandbox.stack.inventory import Container

Proposals = Callable[[str], list[str]]


def _quietly(words: Callable[[], Iterable[str]]) -> Proposals:
    """Words that start with what was typed; nothing at all instead of an error in the middle of a
    command line.
    """

    def proposed(incomplete: str) -> list[str]:
        try:
            return sorted(word for word in words() if word.startswith(incomplete))
        except Exception:  # noqa: BLE001  (a completion has nobody to report to)
            return []

    return proposed


def profile(incomplete: str) -> list[str]:
    """Completes the last term: components, settings, named profiles; the terms before it stay."""
    before, plus, last = incomplete.rpartition("+")
    return [f"{before}{plus}{term}" for term in _terms(last)]


@_quietly
def _terms() -> Iterable[str]:
    from sandbox.profile.reader import load_library

    library = load_library()
    return [*library.components.names(), *library.settings, *library.named]


@_quietly
def stack() -> Iterable[str]:
    """Names of the stacks on this engine."""
    from sandbox.stack.naming import stack_name

    return {stack_name(each.project, each.checkout) for each in _containers()}


@_quietly
def node() -> Iterable[str]:
    """Nodes of any stack."""
    return {each.node for each in _containers()}


@_quietly
def entry() -> Iterable[str]:
    """What ``VIA=`` can name in any stack."""
    from sandbox.stack.engine import Docker
    from sandbox.stack.stack import all_stacks

    return {word for stack in all_stacks(Docker()) for word in stack.entries.choices()}


def _containers() -> "Sequence[Container]":
    from sandbox.stack.engine import Docker
    from sandbox.stack.inventory import containers

    return containers(Docker())


@_quietly
def matrix() -> Iterable[str]:
    """Names of matrices."""
    from sandbox.core.paths import yaml_files
    from sandbox.matrix.file import MATRICES

    return yaml_files(MATRICES)


@_quietly
def workload() -> Iterable[str]:
    """Names of workloads."""
    from sandbox.load.common.registry import WORKLOADS, find_workloads

    return find_workloads(WORKLOADS)


@_quietly
def result() -> Iterable[str]:
    """Names of results, and ``latest``."""
    from sandbox.core.paths import RESULTS
    from sandbox.record.store import all_results

    return ["latest", *(each.path.name for each in all_results(RESULTS))]


@_quietly
def repro() -> Iterable[str]:
    """Names of repros."""
    from sandbox.core.paths import yaml_files
    from sandbox.repro.file import REPROS

    return yaml_files(REPROS)


@_quietly
def fault() -> Iterable[str]:
    """Names of faults."""
    from sandbox.failure.fault import FAULT_KINDS

    return FAULT_KINDS.names()


@_quietly
def trial_fault() -> Iterable[str]:
    """Names of faults, actions and fault profiles: what a trial can do."""
    from sandbox.failure.action import ACTION_KINDS
    from sandbox.failure.fault import FAULT_KINDS
    from sandbox.measure.trial.scenario import schedule_names

    return {*FAULT_KINDS.names(), *ACTION_KINDS.names(), *schedule_names()}


@_quietly
def driver() -> Iterable[str]:
    """Names of drivers, alone and with each of their modes."""
    from sandbox.measure.trial.drivers import every_driver

    for name, each in every_driver().items():
        yield name
        yield from (f"{name}:{mode}" for mode in each.modes)

"""WORKLOAD= and OPTIONS= as typed, resolved: a name, or a file of the user's own, and what it is set to."""

import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.library import CHECKOUT, read_user_file
from sandbox.workloads.common.model import OptionValue
from sandbox.workloads.common.own import SUFFIXES, own_workload, with_options
from sandbox.workloads.common.registry import NamedWorkload, find_workload

WORKLOADS = CHECKOUT / "profiles" / "workloads"


def resolve_workload(
    word: str, options: Mapping[str, OptionValue] | None = None, profiles: Path = WORKLOADS
) -> NamedWorkload:
    """The workload of a name, or of a path that ends in .lua or .sql, with its options set.

    Raises SandboxError (exit 2) for a name that there is none of, a file or option that cannot be used.
    """
    return with_options(_named(word, profiles), options or {})


@cache
def _own(path: str) -> NamedWorkload:
    """Read once: what a matrix runs is what it has begun with, whatever becomes of the file meanwhile."""
    file = read_user_file(path, "WORKLOAD")
    assert file is not None  # noqa: S101  (a path was given)
    return own_workload(path, file)


def _named(word: str, profiles: Path) -> NamedWorkload:
    if word.endswith(SUFFIXES):
        return _own(word)
    if "/" in word:
        known = "a workload of your own ends in .lua (sysbench) or .sql (statements with weights)"
        raise SandboxError(f"WORKLOAD={word} cannot be used", known, "make bench WORKLOAD=path/to/mine.sql")
    return find_workload(word, profiles)


def parse_options(given: Iterable[str]) -> dict[str, OptionValue]:
    """OPTIONS= as typed: ``warehouses=2 items=1000``, split as a shell would. Raises SandboxError (exit 2)."""
    options: dict[str, OptionValue] = {}
    example = 'make bench WORKLOAD=tpcc OPTIONS="warehouses=2"'
    for text in given:
        try:
            words = shlex.split(text)
        except ValueError as problem:
            raise SandboxError(f"OPTIONS={text} cannot be read", str(problem), example) from problem
        for word in words:
            name, equals, value = word.partition("=")
            if not (name and equals):
                raise SandboxError(f"OPTIONS: '{word}' sets nothing", "each is name=value", example)
            options[name] = value
    return options

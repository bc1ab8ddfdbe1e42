"""Resolves WORKLOAD= and OPTIONS= as typed: a name, or the user's own file, and its options."""

import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.library import read_user_file
from sandbox.places import profile_folders
from sandbox.workloads.common.model import OptionValue
from sandbox.workloads.common.own import SUFFIXES, own_workload, with_options
from sandbox.workloads.common.registry import NamedWorkload, find_workload

WORKLOADS = profile_folders("workloads")


def resolve_workload(
    word: str, options: Mapping[str, OptionValue] | None = None, profiles: list[Path] = WORKLOADS
) -> NamedWorkload:
    """The workload of a name, or of a path that ends in .lua or .sql, with its options set.

    Raises SandboxError (exit 2) for an unknown name, or an invalid file or option.
    """
    return with_options(_named(word, profiles), options or {})


@cache
def _own(path: str) -> NamedWorkload:
    """Read once: a matrix keeps running the file it started with, whatever happens to it meanwhile."""
    file = read_user_file(path, "WORKLOAD")
    assert file is not None  # noqa: S101  (a path was given)
    return own_workload(path, file)


def _named(word: str, profiles: list[Path]) -> NamedWorkload:
    if word.endswith(SUFFIXES):
        return _own(word)
    if "/" in word:
        known = "a workload of your own ends in .lua (sysbench) or .sql (statements with weights)"
        raise SandboxError(f"WORKLOAD={word} is not valid", known, "try: make bench WORKLOAD=path/to/mine.sql")
    return find_workload(word, profiles)


def parse_options(given: Iterable[str]) -> dict[str, OptionValue]:
    """OPTIONS= as typed: ``warehouses=2 items=1000``, split as a shell would. Raises SandboxError (exit 2)."""
    options: dict[str, OptionValue] = {}
    example = 'try: make bench WORKLOAD=tpcc OPTIONS="warehouses=2"'
    for text in given:
        try:
            words = shlex.split(text)
        except ValueError as problem:
            raise SandboxError(f"OPTIONS={text} is not valid", str(problem), example) from problem
        for word in words:
            name, equals, value = word.partition("=")
            if not (name and equals):
                raise SandboxError(f"OPTIONS: '{word}' sets nothing", "each option is name=value", example)
            options[name] = value
    return options

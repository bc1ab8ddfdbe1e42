"""Finds the workloads: files and folders of the package, profiles that configure one, and the
user's own files.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean, expected
from sandbox.core.paths import broken_file, profile_folders, yaml_files
from sandbox.core.plugin_options import OptionValue
from sandbox.core.plugins import plugins_of_classes
from sandbox.core.words import help_in
from sandbox.core.yaml_lines import Loader
from sandbox.load.common.sysbench_load import SCRIPT, LuaLoad
from sandbox.load.common.workload import Workload
from sandbox.load.statements import Statements, parse_statements
from sandbox.load.sysbench import script_of
from sandbox.profile.plan import UserFile
from sandbox.profile.reader import read_user_file

WORKLOADS = profile_folders("workloads")
EXAMPLE = 'try: make bench WORKLOAD=tpcc OPTIONS="warehouses=2"'
"""Options as they are typed."""
WORKLOAD_KINDS = plugins_of_classes(
    "sandbox.load",
    Workload,  # type: ignore[type-abstract]
    "make bench WORKLOAD={}",
)


class WorkloadProfile(BaseModel):
    """A file of ``profiles/workloads/``: the workload that it configures, and its options."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    help: str
    workload: str
    options: dict[str, OptionValue] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """A workload under the name the user types."""

    name: str
    help: str
    workload: Workload
    file: UserFile | None = None
    """The user's own file, where the workload is not one of ours."""


def workload_kind(name: str) -> type[Workload]:
    """The workload that a file or folder of ``sandbox/load/`` defines, by its name with dashes.

    Raises SandboxError: exit 2 for an unknown name, exit 5 for a file that does not define one, and
    for a folder without its script.
    """
    kind = WORKLOAD_KINDS.named(name)
    if issubclass(kind, LuaLoad) and not files(kind.__module__).joinpath(SCRIPT).is_file():
        what = f"load/{kind.__module__.rpartition('.')[2]}/ has no {SCRIPT}"
        known = "it runs the transactions"
        raise SandboxError(what, known, "try: make test-unit", ExitCode.INTERNAL)
    return kind


def find_workloads(profiles: list[Path]) -> dict[str, NamedWorkload]:
    """Every workload by name; ``profiles``: folders of workload profiles.

    A workload file without required options is one, under its own name.

    Raises SandboxError (exit 5) for an invalid profile: it is one of our files.
    """
    kinds = {name: _without_options(name) for name in WORKLOAD_KINDS.names()}
    found = {name: workload for name, workload in kinds.items() if workload}
    return found | {name: _from_profile(path) for name, path in yaml_files(profiles).items()}


def _without_options(name: str) -> NamedWorkload | None:
    """A workload file or folder under its own name; None where it has options that it requires."""
    kind = workload_kind(name)
    if any(field.is_required() for field in kind.model_fields.values()):
        return None
    text = help_in(importlib.import_module(kind.__module__).__doc__)
    return NamedWorkload(name, text, kind())


def find_workload(name: str, profiles: list[Path]) -> NamedWorkload:
    """One workload by name, reading no other profile. Raises SandboxError (exit 2) for an unknown
    name.
    """
    path = yaml_files(profiles).get(name)
    if path:
        return _from_profile(path)
    found = _without_options(name) if name in WORKLOAD_KINDS.names() else None
    if found is None:
        known = did_you_mean(name, find_workloads(profiles))
        raise SandboxError(
            f"there is no workload '{name}'", known, "try: make bench WORKLOAD=<name>"
        )
    return found


def resolve_workload(word: str, options: Mapping[str, OptionValue] | None = None) -> NamedWorkload:
    """The workload of a name, or of a path that ends in .lua or .sql, with its options set.

    Raises SandboxError (exit 2) for an unknown name, or an invalid file or option.
    """
    if word.endswith((".lua", ".sql")):
        named = _own(word)
    elif "/" in word:
        known = "a workload of your own ends in .lua (sysbench) or .sql (statements with weights)"
        raise SandboxError(
            f"WORKLOAD={word} is not valid", known, "try: make bench WORKLOAD=path/to/mine.sql"
        )
    else:
        named = find_workload(word, WORKLOADS)
    return replace(named, workload=named.workload.with_options(options)) if options else named


@cache
def _own(path: str) -> NamedWorkload:
    """Read once: a matrix keeps running the file it started with, whatever happens to it
    meanwhile.
    """
    file = read_user_file(path, "WORKLOAD")
    assert file is not None  # noqa: S101  (a path was given)
    return own_workload(path, file)


def own_workload(path: str, file: UserFile) -> NamedWorkload:
    """The workload of a file; ``path`` as the user typed it. Raises SandboxError (exit 2) for an
    invalid file.

    It is named after the file, so that the record identifies it, whatever folder it is in.
    """
    if path.endswith(".lua"):
        return NamedWorkload(
            file.name, "the user's own sysbench script", script_of(file.name, file.content), file
        )
    parse_statements(file.content, path)
    return NamedWorkload(
        file.name, "the user's own statements", Statements(text=file.content), file
    )


def _from_profile(path: Path) -> NamedWorkload:
    try:
        raw: Any = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)  # noqa: S506  (a safe loader)
        profile = WorkloadProfile.model_validate(raw)
        known = WORKLOAD_KINDS.names()
        if profile.workload not in known:
            nearest = did_you_mean(profile.workload, known)
            raise ValueError(f"there is no workload '{profile.workload}'; {nearest}")
        kind = workload_kind(profile.workload)
        return NamedWorkload(path.stem, profile.help, kind(**profile.options))
    except (ValueError, yaml.YAMLError) as problem:
        reason = (
            expected(problem.errors()[0]).removeprefix("value error, ")
            if isinstance(problem, ValidationError)
            else str(problem)
        )
        raise broken_file(path, f"{path} is not valid", reason) from problem

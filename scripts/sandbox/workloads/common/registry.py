"""Finds the workloads: every file or folder of the package, and every profile that configures one."""

import importlib
import pkgutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import sandbox.workloads
from sandbox.errors import ExitCode, SandboxError, did_you_mean, expected
from sandbox.places import broken_file, yaml_files
from sandbox.plan.model import UserFile
from sandbox.workloads.common.lua_load import SCRIPT, LuaLoad
from sandbox.workloads.common.model import OptionValue, Workload


class WorkloadProfile(BaseModel):
    """A file of ``profiles/workloads/``: the workload that it configures, and its options."""

    model_config = ConfigDict(extra="forbid", frozen=True)
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


def workload_files() -> dict[str, type[Workload]]:
    """The workload that each file or folder of ``sandbox/workloads/`` defines, by its name."""
    names = [module.name for module in pkgutil.iter_modules(sandbox.workloads.__path__) if module.name != "common"]
    return {name: _workload_in(name) for name in sorted(names)}


def find_workloads(profiles: list[Path]) -> dict[str, NamedWorkload]:
    """Every workload by name; ``profiles``: folders of workload profiles.

    A workload file without required options is one, under its own name with dashes.

    Raises SandboxError (exit 5) for an invalid profile: it is one of our files.
    """
    files = workload_files()
    found = {
        name.replace("_", "-"): NamedWorkload(name.replace("_", "-"), _help_of(kind), kind())
        for name, kind in files.items()
        if not any(field.is_required() for field in kind.model_fields.values())
    }
    return found | {name: _from_profile(path, files) for name, path in yaml_files(profiles).items()}


def find_workload(name: str, profiles: list[Path]) -> NamedWorkload:
    """One workload by name, reading no other profile. Raises SandboxError (exit 2) for an unknown name."""
    path = yaml_files(profiles).get(name)
    if path:
        return _from_profile(path, workload_files())
    found = find_workloads(profiles)
    if name not in found:
        known = did_you_mean(name, found)
        raise SandboxError(f"there is no workload '{name}'", known, "try: make bench WORKLOAD=<name>")
    return found[name]


def _workload_in(name: str) -> type[Workload]:
    module = importlib.import_module(f"{sandbox.workloads.__name__}.{name}")
    kinds = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Workload) and value.__module__ == module.__name__
    ]
    if len(kinds) != 1:
        raise SandboxError(
            f"workloads/{name}.py defines {len(kinds)} workloads",
            "a workload file defines one subclass of Workload",
            "try: make test-unit",
            ExitCode.INTERNAL,
        )
    if issubclass(kinds[0], LuaLoad) and not files(module).joinpath(SCRIPT).is_file():
        what = f"workloads/{name}/ has no {SCRIPT}"
        raise SandboxError(what, "it runs the transactions", "try: make test-unit", ExitCode.INTERNAL)
    return kinds[0]


def _help_of(kind: type[Workload]) -> str:
    return (importlib.import_module(kind.__module__).__doc__ or "").strip().partition("\n")[0]


def _from_profile(path: Path, files: dict[str, type[Workload]]) -> NamedWorkload:
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        profile = WorkloadProfile.model_validate(raw)
        if profile.workload not in files:
            raise ValueError(f"there is no workload '{profile.workload}'; {did_you_mean(profile.workload, files)}")
        return NamedWorkload(path.stem, profile.help, files[profile.workload](**profile.options))
    except (ValueError, yaml.YAMLError) as problem:
        reason = (
            expected(problem.errors()[0]).removeprefix("value error, ")
            if isinstance(problem, ValidationError)
            else str(problem)
        )
        what = f"{path} is not valid"
        raise broken_file(path, what, reason) from problem

"""Reads compose/, profiles/, images/ and the user's own files into the data for the pure
planner.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from sandbox.core.errors import SandboxError
from sandbox.core.paths import CHECKOUT, LOCK_FILE, broken_file, profile_folders, yaml_files
from sandbox.core.yaml_lines import Loader
from sandbox.profile.images import Catalog, Lock
from sandbox.profile.library import (
    Component,
    ComponentSpec,
    Library,
    NamedProfile,
    Setting,
    inherit,
    take_over,
)
from sandbox.profile.own_files import split_files
from sandbox.profile.plan import OwnFile, UserFile

Model = TypeVar("Model", bound=BaseModel)


def load_library(root: Path = CHECKOUT) -> Library:
    """The library of a checkout; its files are read on first use."""
    return Library(
        components=ComponentFolders(root / "compose"),
        settings=YamlFolder(_folders(root, "settings"), lambda path: _named(Setting, path)),
        named=YamlFolder(_folders(root, "named"), lambda path: _named(NamedProfile, path)),
        catalog=_validated(
            Catalog, read_yaml(root / "images" / "catalog.yaml"), root / "images" / "catalog.yaml"
        ),
    )


def _folders(root: Path, kind: str) -> list[Path]:
    return profile_folders(kind) if root == CHECKOUT else [root / "profiles" / kind]


def load_lock(path: Path = LOCK_FILE) -> Lock:
    """``images/lock.yaml``, or an empty lock if there is no such file."""
    return _validated(Lock, read_yaml(path), path) if path.exists() else Lock()


def read_yaml(path: Path) -> Any:
    """A YAML file's content. Raises SandboxError (exit 5) for a broken file: the repository itself
    is at fault.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)  # noqa: S506  (a safe loader)
    except (OSError, yaml.YAMLError) as problem:
        raise _broken(path, str(problem)) from problem


def read_user_file(path: str | None, variable: str) -> UserFile | None:
    """A file given as ``CNF=`` or ``INIT=``, decompressed if its name ends in .gz.

    Of SQL every byte is kept, of a configuration only text is taken. Raises SandboxError (exit 2)
    if it cannot be read.
    """
    if not path:
        return None
    errors = "surrogateescape" if variable == "INIT" else "strict"
    try:
        raw = Path(path).read_bytes()
        content = (gzip.decompress(raw) if path.endswith(".gz") else raw).decode("utf-8", errors)
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        raise SandboxError(
            f"{variable}={path} cannot be read", str(problem), f"try: ls -l {path}"
        ) from problem
    return UserFile(Path(path).name, content, hashlib.sha256(raw).hexdigest())


def read_configuration_files(text: str | None) -> tuple[UserFile | None, tuple[OwnFile, ...]]:
    """The files of ``CNF=``: the one for every server, and those for single nodes and terms.

    A path with blanks needs quotes only where it is no file's own. Raises SandboxError (exit 2) if
    one cannot be read.
    """
    if not text:
        return None, ()
    if Path(text).is_file():
        return read_user_file(text, "CNF"), ()
    common = None
    own = []
    for asked in split_files(text):
        file = read_user_file(asked.path, "CNF")
        if file and asked.place:
            own.append(OwnFile(asked.place, file, asked.instead))
        else:
            common = file
    return common, tuple(own)


def _named(model: type[Model], path: Path) -> Model:
    return _validated(model, {"name": path.stem, **(read_yaml(path) or {})}, path)


def _validated(model: type[Model], data: Any, path: Path) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        first = problem.errors()[0]
        raise _broken(
            path, f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        ) from problem


def _broken(path: Path, reason: str) -> SandboxError:
    return broken_file(path, f"{path} cannot be read", reason)


class YamlFolder(Mapping[str, Model]):
    """Folders of YAML files as one mapping by file name, each file read on first use."""

    def __init__(self, folders: list[Path], read: Callable[[Path], Model]) -> None:
        self._folders = folders
        self._read = cache(read)

    @cached_property
    def _names(self) -> Mapping[str, Path]:
        return yaml_files(self._folders)

    def __getitem__(self, name: str) -> Model:
        return self._read(self._names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class ComponentFolders:
    """``compose/``: one folder per component, inheritance resolved on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._component = cache(self._read)
        self._depends_on_group = cache(self._base_depends)

    @cached_property
    def _names(self) -> list[str]:
        return sorted(path.parent.name for path in self._folder.glob("*/compose.yaml"))

    def names(self) -> list[str]:
        """Every component's name."""
        return self._names

    def aliases(self) -> dict[str, str]:
        """Alias → the component's name; aliases come from its own folder only, not from what it is
        based on.
        """
        found = (
            (name, _raw_fragment(self._folder / name)["x-component"].get("aliases", ()))
            for name in self._names
        )
        return {alias: name for name, aliases in found for alias in aliases}

    def get(self, name: str, group_component: str | None = None) -> Component:
        """The component; one based on its group's component (a replica) is resolved for that
        component.
        """
        return self._component(name, group_component if self._depends_on_group(name) else None)

    def _base_depends(self, name: str) -> bool:
        """Whether a component is based on another one in each kind of group."""
        return isinstance(_raw_fragment(self._folder / name)["x-component"].get("based_on"), dict)

    def _read(self, name: str, group_component: str | None) -> Component:
        path = self._folder / name / "compose.yaml"
        raw, files = self._resolved(name, group_component)
        spec = _validated(ComponentSpec, raw["x-component"], path)
        parts = {part: raw.get(part, {}) for part in ("services", "configs", "volumes")}
        return _validated(Component, {"name": name, "spec": spec, **parts, "files": files}, path)

    def _resolved(
        self, name: str, group_component: str | None
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The fragment merged over the one it is based on, and the files of both folders."""
        raw, own = self._with_services_of_others(name)
        base = raw["x-component"].get("based_on")
        if isinstance(base, dict):
            base = base.get(group_component)
        if base is None:
            return raw, own
        base_raw, base_files = self._resolved(base, None)
        merged = inherit(base_raw, base, raw, name)
        merged["x-component"]["aliases"] = raw["x-component"].get("aliases", [])
        if isinstance(raw["x-component"]["based_on"], dict):
            merged["x-component"] = {**merged["x-component"], "based_on": base}
        return merged, {**base_files, **own}

    def _with_services_of_others(self, name: str) -> tuple[dict[str, Any], dict[str, str]]:
        """A fragment and its files, with the services, and the files, that it takes over from other
        fragments.
        """
        raw = _raw_fragment(self._folder / name)
        files = _files(self._folder / name)
        for service, auxiliary in raw["x-component"].get("auxiliary", {}).items():
            lender = auxiliary.get("taken_from")
            if lender:
                raw = take_over(_raw_fragment(self._folder / lender), service, raw)
                files = {**_files(self._folder / lender), **files}
        return raw, files


@cache
def _raw_fragment(folder: Path) -> dict[str, Any]:
    raw = read_yaml(folder / "compose.yaml")
    if not isinstance(raw, dict) or not isinstance(raw.get("x-component"), dict):
        raise _broken(folder / "compose.yaml", "it has no x-component block")
    return raw


@cache
def _files(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in folder.iterdir()
        if path.is_file() and path.name != "compose.yaml"
    }

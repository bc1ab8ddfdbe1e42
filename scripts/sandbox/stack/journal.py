"""The journal of faults: a file per fault and node in the user's cache, until it is healed."""

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.core.paths import write_atomically
from sandbox.stack.locks import cache_folder


class Breakage(BaseModel):
    """One fault on one node. ``before``: what its heal needs to know."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    project: str
    fault: str
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    node: str
    before: dict[str, str] = Field(default_factory=dict)
    began_utc_s: float = Field(default_factory=time.time)

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.began_utc_s:.6f}-{self.node}-{self.fault}.json"

    @property
    def text(self) -> str:
        """``hang on mysql1``."""
        return f"{self.fault} on {self.node}"


def note_breakage(breakage: Breakage) -> None:
    """Writes it down. Raises OSError where the cache cannot be written."""
    folder = _folder(breakage.project)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / breakage.name, breakage.model_dump_json() + "\n")


def forget_breakage(breakage: Breakage) -> None:
    """Removes it; harmless when repeated."""
    (_folder(breakage.project) / breakage.name).unlink(missing_ok=True)


def breakages(project: str) -> list[Breakage]:
    """Faults of a stack, oldest first, without files that cannot be read."""
    return _read(project)[0]


def unreadable(project: str) -> Mapping[Path, str]:
    """Files of a stack that cannot be read, each with the reason: what they say is broken, and
    nobody can mend it.
    """
    return _read(project)[1]


def forget_all(project: str) -> int:
    """Removes what was broken in a stack that is gone; how many files there were."""
    paths = list(_folder(project).glob("*.json"))
    for path in paths:
        path.unlink(missing_ok=True)
    with suppress(OSError):  # there is none, or another command has just written to it
        _folder(project).rmdir()
    return len(paths)


def _folder(project: str) -> Path:
    return cache_folder() / "faults" / project


def _read(project: str) -> tuple[list[Breakage], dict[Path, str]]:
    found: list[Breakage] = []
    problems: dict[Path, str] = {}
    for path in sorted(_folder(project).glob("*.json")):
        try:
            found.append(Breakage.model_validate_json(path.read_bytes()))
        except FileNotFoundError:  # healed since it was listed
            continue
        except ValidationError as problem:
            first = problem.errors()[0]
            problems[path] = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
        except OSError as problem:
            problems[path] = problem.strerror or str(problem)
    return sorted(found, key=lambda each: each.began_utc_s), problems

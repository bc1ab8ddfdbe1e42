"""Finds and reads repro files; what is wrong is reported with file and line."""

import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.core.paths import profile_folders, yaml_files
from sandbox.core.yaml_lines import YamlFile
from sandbox.repro.definition import BothSides, Data, Generated, Repro
from sandbox.repro.dump_loading import DumpError, refuse_dump

REPROS = profile_folders("repros")
STDIN = "-"
_WORDS: dict[str, Any] = {"expect": BothSides, "load": Data, "rows": Generated}


def repro_names() -> list[str]:
    """Names of all repros that are found by their name."""
    return list(yaml_files(REPROS))


def repro_path(word: str) -> Path:
    """The file of a name in ``profiles/repros/``, or any path. Raises SandboxError (exit 2) for an
    unknown name.
    """
    known = yaml_files(REPROS)
    if "/" in word or word.endswith((".yaml", ".yml")):
        return Path(word)
    if word not in known:
        what = f"there is no repro '{word}'"
        raise SandboxError(what, did_you_mean(word, known), "try: make list WHAT=repros")
    return known[word]


def read_repro(word: str) -> Repro:
    """The repro of a name, a path, or ``-`` for standard input.

    Raises SandboxError (exit 2) naming file, line, and what is allowed.
    """
    return read_with_source(word)[0]


def read_with_source(word: str) -> tuple[Repro, dict[str, Any]]:
    """The same, and the data that its file has."""
    repro, file = read_with_file(word)
    return repro, file.data


def read_with_file(word: str) -> tuple[Repro, YamlFile]:
    """The same, and the file, which knows the lines of its parts."""
    if word != STDIN:
        return _read(repro_path(word), None)
    if sys.stdin.isatty():
        known = "a repro as YAML is read from standard input"
        raise SandboxError("nothing is piped in", known, "try: make repro REPRO=- <mine.yaml")
    return _read(Path("stdin"), sys.stdin.read())


def _read(path: Path, text: str | None) -> tuple[Repro, YamlFile]:
    next_step = f"try: make repro REPRO={path}   (after fixing the file)"
    file = YamlFile(path, "repro", next_step, text)
    if not isinstance(file.data, dict):
        raise file.wrong((), "a repro is a mapping: title, question, profile, steps, expect")
    try:
        repro = Repro.model_validate({**file.data, "name": path.stem})
        _refuse_missing(repro, file)
        return repro, file
    except ValidationError as error:
        problems = error.errors()
        # An unknown key before all: it is one that is missing elsewhere.
        unknown = (each for each in problems if each["type"] == "extra_forbidden")
        problem = next(unknown, problems[0])
        place = tuple(problem["loc"])
        said = _text(problem)
        where = ".".join(str(part) for part in place)
        raise file.wrong(place, f"{where}: {said}" if where else said) from error


def _refuse_missing(repro: Repro, file: YamlFile) -> None:
    """Raises SandboxError (exit 2) for a dump that cannot be loaded, or a step's file that is not
    there.
    """
    if repro.load.file:
        try:
            refuse_dump(Path(repro.load.file))
        except DumpError as problem:
            raise file.wrong(("load", "file"), f"load.file: {problem}") from problem
    for number, step in enumerate(repro.steps):
        for path in step.files:
            if not Path(path).is_file():
                raise file.wrong(("steps", number), f"steps.{number}: {path} is not there")


def _text(problem: Any) -> str:
    """Pydantic's message, in our words; for an unknown key, the nearest one that is allowed."""
    if problem["type"] != "extra_forbidden":
        return str(expected(problem)).removeprefix("value error, ")
    *above, key = problem["loc"]
    model: Any = Repro
    if above:
        model = next((_WORDS[str(each)] for each in reversed(above) if str(each) in _WORDS), None)
    if model is None:
        return "there is no such key"
    known = [name for name in model.model_fields if name != "name"]
    return f"there is no such key; {did_you_mean(str(key), known)}"

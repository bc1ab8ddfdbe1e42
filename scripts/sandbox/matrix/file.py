"""Finds and reads a matrix file; errors name file and line."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.core.paths import profile_folders, yaml_files
from sandbox.core.yaml_lines import Place, line_of, refuse_repeated_keys
from sandbox.matrix.definition import Change, Expected, Matrix
from sandbox.measure.run_checks import Condition
from sandbox.profile.grammar import Term, parse, split_assignments
from sandbox.profile.library import Library
from sandbox.profile.reader import load_library
from sandbox.profile.refusal import NEXT_STEP
from sandbox.record.metrics import METRICS

MATRICES = profile_folders("matrices")
PARAMETERS = {"tables": "tables", "rows": "rows_per_table", "dist": "distribution", "rate": "rate_per_s"}
"""Key of a change → parameter of a load."""


def matrix_path(word: str | None, folders: list[Path] = MATRICES) -> Path:
    """The file of a name in ``profiles/matrices/``, or any path. Raises SandboxError (exit 2) for an unknown name."""
    known = yaml_files(folders)
    if not word:
        raise SandboxError("no MATRIX was given", f"known: {', '.join(known)}", f"try: make matrix MATRIX={min(known)}")
    if "/" in word or word.endswith((".yaml", ".yml")):
        return Path(word)
    if word not in known:
        raise SandboxError(f"there is no matrix '{word}'", did_you_mean(word, known), "try: make matrix MATRIX=quick")
    return known[word]


def read_matrix(path: Path) -> Matrix:
    """The matrix in a file. Raises SandboxError (exit 2) naming file, line, and what is allowed."""
    tree, data = _parsed(path)
    if not isinstance(data, dict):
        raise _wrong(path, 1, "a matrix is a mapping: title, question, factors, baseline, …")
    # By its name, where that is how it is known.
    word = path.stem if yaml_files(MATRICES).get(path.stem) == path else shlex.quote(str(path))
    try:
        matrix = Matrix.model_validate({**data, "name": path.stem, "command": f"make matrix MATRIX={word}"})
    except ValidationError as problem:
        first = problem.errors()[0]
        loc = getattr(first.get("ctx", {}).get("error"), "place", first["loc"])
        place = ".".join(str(part) for part in first["loc"])
        text = _allowed(first)
        raise _wrong(path, line_of(tree, loc), f"{place}: {text}" if place else text) from problem
    _check_metrics(matrix, path, tree)
    _check_trial_keys(matrix, path, tree)
    _check_words(matrix, path)
    return matrix


def refused_at(path: Path, place: Place, error: SandboxError) -> SandboxError:
    """The error of something in a matrix file, located at ``place`` in the file."""
    line = line_of(_parsed(path)[0], place)
    return SandboxError(f"{path}:{line}: {error.what}", error.known, _next_step(path))


def _parsed(path: Path) -> tuple[yaml.Node | None, Any]:
    """A file's tree, which has the line numbers, and its data."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
        refuse_repeated_keys(tree, partial(_wrong, path))
        return tree, data
    except (OSError, UnicodeDecodeError) as problem:
        raise SandboxError(f"MATRIX={path} cannot be read", str(problem), f"try: ls -l {path}") from problem
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        raise _wrong(path, mark.line + 1 if mark else 1, getattr(problem, "problem", None) or str(problem)) from problem


def _check_metrics(matrix: Matrix, path: Path, tree: yaml.Node | None) -> None:
    for position, each in enumerate(matrix.expected):
        if each.metric not in METRICS:
            text = f"expected: there is no metric '{each.metric}'; {did_you_mean(each.metric, METRICS)}"
            raise _wrong(path, line_of(tree, ("expected", position, "metric")), text)
    for position, name in enumerate(matrix.metrics):
        if name not in METRICS or name in matrix.metrics[:position]:
            text = "it appears twice" if name in METRICS else f"there is no such metric; {did_you_mean(name, METRICS)}"
            raise _wrong(path, line_of(tree, ("metrics", position)), f"metrics: '{name}': {text}")


def _check_trial_keys(matrix: Matrix, path: Path, tree: yaml.Node | None) -> None:
    """``target`` and ``load`` say nothing of cells without a fault: there they would be ignored."""
    cells = list(matrix.all_cells())
    for place, change in changes_of(matrix):
        for key in [key for key in ("target", "load", "transaction") if key in change.model_fields_set]:
            _, *levels = place
            concerned = [cell for cell in cells if not levels or cell.levels[str(levels[0])] == levels[1]]
            if not any(cell.change.faults for cell in concerned):
                text = f"{key} applies only to trials; no cell here has faults"
                raise _wrong(path, line_of(tree, (*place, key)), text)


def _check_words(matrix: Matrix, path: Path) -> None:
    """Unknown words at any level are a mistake in the file, whereas a cell that cannot run is skipped."""
    library = load_library()
    for place, change in changes_of(matrix):
        profile = [change.profile] if change.profile else []
        for field, texts, refuse in (
            ("profile", profile, _refuse_unknown_terms),
            ("add", change.add, _refuse_unknown_terms),
            ("set", change.set, _refuse_unknown_assignments),
        ):
            try:
                for text in texts:
                    refuse(text, library)
            except SandboxError as error:
                raise refused_at(path, (*place, field), error) from error


def changes_of(matrix: Matrix) -> Iterator[tuple[Place, Change]]:
    """The common part of all cells, then every level, each with its place in the file."""
    yield ("common",), matrix.common
    for factor, levels in matrix.factors.items():
        for level, change in levels.items():
            yield ("factors", factor, level), change


def _allowed(reason: Mapping[str, Any]) -> str:
    """Pydantic's message, in our words; for an unknown key, the nearest one that is allowed there."""
    if reason["type"] != "extra_forbidden":
        return expected(reason).removeprefix("value error, ")
    *above, key = reason["loc"]
    if not above:
        known = [name for name in Matrix.model_fields if name not in ("name", "command")]
        return f"there is no such key at the top level; {did_you_mean(str(key), known)}"
    models: dict[str, type[BaseModel]] = {"conditions": Condition, "expected": Expected}
    model = models.get(str(above[0]), Change)
    where = "in a level" if model is Change else "there"
    return f"there is no such key {where}; {did_you_mean(str(key), model.model_fields)}"


def _wrong(path: Path, line: int, text: str) -> SandboxError:
    return SandboxError(f"{path}:{line} is not a valid matrix", text, _next_step(path))


def _next_step(path: Path) -> str:
    return f"try: make matrix MATRIX={path} PLAN=1   (after fixing the file)"


def _refuse_unknown_terms(expression: str, library: Library) -> None:
    """Raises SandboxError (exit 2) for an unknown term, or an invalid count or version of a known one.

    Combinations are not checked: a level may be impossible with some levels and possible with others.
    """
    for term in parse(expression):
        if term.name not in library.words():
            raise SandboxError(f"unknown term '{term.text}'", did_you_mean(term.name, library.words()), NEXT_STEP)
        if term.name in library.components.names():
            _refuse_unknown_version(term, library)
        elif term.count or term.version:
            known = "only a component does; this is a setting or a named profile"
            raise SandboxError(f"'{term.text}': '{term.name}' takes no count and no version", known, NEXT_STEP)


def _refuse_unknown_assignments(text: str, library: Library) -> None:
    """Raises SandboxError (exit 2) for an invalid assignment, or one for an unknown term."""
    for term, name, _ in split_assignments((text,)):
        component = (term or "").rstrip("0123456789")
        if term and component not in library.components.names():
            known = did_you_mean(component, library.components.names())
            raise SandboxError(f"SET: '{term}:{name}' names no component", known, NEXT_STEP)


def _refuse_unknown_version(term: Term, library: Library) -> None:
    component = library.components.get(term.name)
    if term.count and not component.countable:
        raise SandboxError(f"'{term.text}': '{term.name}' takes no count", "a stack has one of it", NEXT_STEP)
    key = component.spec.image or term.name
    if term.version and key in library.catalog.images:  # a replica has the image of its group
        library.catalog.images[key].resolve(key, term.version)


def refuse_idle_factors(factors: Mapping[str, Mapping[str, Change]], uses: Iterable[Collection[str]]) -> None:
    """Raises SandboxError (exit 2) for a factor with a parameter that no load uses: its levels would be equal.

    ``uses``: what each load uses, as `BenchRequest.uses`.
    """
    used = frozenset[str]().union(*uses)
    for factor, levels in factors.items():
        for word, parameter in PARAMETERS.items():
            if parameter not in used and any(word in change.model_fields_set for change in levels.values()):
                what = f"no workload of this matrix uses {word}, which the factor {factor} changes"
                known = "an option of a workload is a factor as option.<its name>: [<levels>]"
                raise SandboxError(what, known, "try: make list WHAT=workloads")

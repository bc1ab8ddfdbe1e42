"""Finds and reads a matrix file; errors name file and line."""

import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.core.paths import profile_folders, yaml_files
from sandbox.core.yaml_lines import Loader, Place, compose, line_of, refuse_repeated_keys
from sandbox.judge.verdict import MOST_BLOCKS
from sandbox.matrix.cell import Change, binaries_of
from sandbox.matrix.definition import Matrix, Scale
from sandbox.matrix.levels import with_scale
from sandbox.matrix.published import (
    Flat,
    Knee,
    Published,
    PublishedComparison,
    PublishedSource,
    PublishedStatement,
    Value,
)
from sandbox.measure.run_checks import Condition
from sandbox.profile.drafts import refuse_misplaced
from sandbox.profile.given import given_images
from sandbox.profile.grammar import Term, parse, split_assignments
from sandbox.profile.library import Library
from sandbox.profile.reader import load_library, read_configuration_files
from sandbox.profile.refusal import NEXT_STEP
from sandbox.record.metrics import METRICS

MATRICES = profile_folders("matrices")
PARAMETERS = {
    "tables": "tables",
    "rows": "rows_per_table",
    "dist": "distribution",
    "rate": "rate_per_s",
}
"""Key of a change → parameter of a load."""
_BOUNDS = {
    "seconds": (1, sys.maxsize),
    "warmup": (0, sys.maxsize),
    "blocks": (1, MOST_BLOCKS),
    "trials": (1, MOST_BLOCKS),
}
"""The least and the most of each number that a command may change."""


def matrix_path(word: str | None, folders: list[Path] = MATRICES) -> Path:
    """The file of a name in ``profiles/matrices/``, or any path. Raises SandboxError (exit 2) for
    an unknown name.
    """
    known = yaml_files(folders)
    if not word:
        raise SandboxError(
            "no MATRIX was given",
            f"known: {', '.join(known)}",
            f"try: make matrix MATRIX={min(known)}",
        )
    if "/" in word or word.endswith((".yaml", ".yml")):
        return Path(word)
    if word not in known:
        raise SandboxError(
            f"there is no matrix '{word}'",
            did_you_mean(word, known),
            "try: make matrix MATRIX=quick",
        )
    return known[word]


def read_matrix(path: Path) -> Matrix:
    """The matrix in a file. Raises SandboxError (exit 2) naming file, line, and what is allowed."""
    tree, data = _parsed(path)
    if not isinstance(data, dict):
        raise _wrong(path, 1, "a matrix is a mapping: title, question, factors, baseline, …")
    command = f"make matrix MATRIX={_word_for(path)}"
    try:
        matrix = Matrix.model_validate({**data, "name": path.stem, "command": command})
    except ValidationError as problem:
        first = problem.errors()[0]
        loc = getattr(first.get("ctx", {}).get("error"), "place", first["loc"])
        place = ".".join(str(part) for part in first["loc"])
        text = _allowed(first)
        if place:
            text = f"{place}: {text}"
        raise _wrong(path, line_of(tree, loc), text) from problem
    _check_metrics(matrix, path, tree)
    _check_scales(matrix, path, tree)
    _check_trial_keys(matrix, path, tree)
    _check_words(matrix, path)
    return matrix


def _word_for(path: Path) -> str:
    """The word that MATRIX= takes for a file: its name, where that is how it is known, else its
    path.
    """
    if yaml_files(MATRICES).get(path.stem) == path:
        return path.stem
    return shlex.quote(str(path))


def adjusted(matrix: Matrix, given: Mapping[str, int | None]) -> Matrix:
    """The matrix with numbers from the command line: seconds, warmup, blocks, trials.

    None: as in the file. Raises SandboxError (exit 2) for a number out of bounds, or for BLOCKS and
    TRIALS that contradict each other.
    """
    changes = {name: value for name, value in given.items() if value is not None}
    for name, value in changes.items():
        _refuse_out_of_bounds(matrix, name, value)
    trials = changes.pop("trials", None)
    if trials is not None and changes.setdefault("blocks", trials) != trials:
        what = f"BLOCKS={changes['blocks']} and TRIALS={trials} contradict each other"
        known = "TRIALS= is another word for BLOCKS="
        raise SandboxError(what, known, f"try: {matrix.command} TRIALS={trials}")
    return matrix.model_copy(update=changes)


def _refuse_out_of_bounds(matrix: Matrix, name: str, value: int) -> None:
    least, most = _BOUNDS[name]
    if least <= value <= most:
        return
    if value < least:
        bound = least
        known = f"at least {least}"
    else:
        bound = most
        known = f"at most {most}: exact tests take no more blocks"
    variable = name.upper()
    step = f"try: {matrix.command} {variable}={bound}"
    raise SandboxError(f"{variable}={value} is not valid", known, step)


def refused_at(path: Path, place: Place, error: SandboxError) -> SandboxError:
    """The error of something in a matrix file, located at ``place`` in the file."""
    line = line_of(_parsed(path)[0], place)
    return SandboxError(f"{path}:{line}: {error.what}", error.known, _next_step(path))


def _parsed(path: Path) -> tuple[yaml.Node | None, Any]:
    """A file's tree, which has the line numbers, and its data."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = compose(text)
        data = yaml.load(text, Loader=Loader)  # noqa: S506  (a safe loader)
        refuse_repeated_keys(tree, partial(_wrong, path))
        return tree, data
    except (OSError, UnicodeDecodeError) as problem:
        raise SandboxError(
            f"MATRIX={path} cannot be read", str(problem), f"try: ls -l {path}"
        ) from problem
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        text = getattr(problem, "problem", None) or str(problem)
        raise _wrong(path, line, text) from problem


def _check_metrics(matrix: Matrix, path: Path, tree: yaml.Node | None) -> None:
    for position, each in enumerate(matrix.published.statements):
        place = ("published", "statements", position, "metric")
        if each.metric not in METRICS:
            text = (
                f"published: there is no metric '{each.metric}';"
                f" {did_you_mean(each.metric, METRICS)}"
            )
            raise _wrong(path, line_of(tree, place), text)
        if each.compare and each.compare.ratio and METRICS[each.metric].scale != "ratio":
            text = f"published: {each.metric} can be zero, and has no ratio; say order: instead"
            raise _wrong(path, line_of(tree, place), text)
        if each.knee and not METRICS[each.metric].higher_is_better:
            text = f"published: {each.metric} has no knee; only one that is better when higher has"
            raise _wrong(path, line_of(tree, place), text)
    for position, name in enumerate(matrix.metrics):
        line = line_of(tree, ("metrics", position))
        if name not in METRICS:
            text = f"there is no such metric; {did_you_mean(name, METRICS)}"
            raise _wrong(path, line, f"metrics: '{name}': {text}")
        if name in matrix.metrics[:position]:
            raise _wrong(path, line, f"metrics: '{name}': it appears twice")


def _check_scales(matrix: Matrix, path: Path, tree: yaml.Node | None) -> None:
    for name in matrix.scales:
        try:
            with_scale(matrix, name)
        except SandboxError as error:
            text = f"scales: {name}: {error.what}: {error.known}"
            raise _wrong(path, line_of(tree, ("scales", name)), text) from error


def _check_trial_keys(matrix: Matrix, path: Path, tree: yaml.Node | None) -> None:
    """``target`` and ``load`` say nothing of cells without a fault: there they would be ignored."""
    for place, change in changes_of(matrix):
        for key in ("target", "load", "transaction", "driver", "driver_mode"):
            if key in change.model_fields_set and not _has_trial(matrix, place):
                text = f"{key} applies only to trials; no cell here has faults"
                raise _wrong(path, line_of(tree, (*place, key)), text)


def _has_trial(matrix: Matrix, place: Place) -> bool:
    """Whether some cell of a level is a trial; ``place`` of the common part: some cell at all."""
    _, *chosen = place
    for cell in matrix.all_cells():
        if chosen and cell.levels[str(chosen[0])] != chosen[1]:
            continue
        if cell.change.faults:
            return True
    return False


def _check_words(matrix: Matrix, path: Path) -> None:
    """Unknown words at any level are a mistake in the file, whereas a cell that cannot run is
    skipped.
    """
    library = load_library()
    for place, change in changes_of(matrix):
        profile = [change.profile] if change.profile else []
        for field, texts, refuse in (
            ("profile", profile, _refuse_unknown_terms),
            ("add", change.add, _refuse_unknown_terms),
            ("set", change.set, _refuse_unknown_assignments),
            ("image", change.image or [], _refuse_no_image),
            ("binary", change.binary or [], _refuse_no_server),
            ("cnf", change.cnf, _refuse_no_file),
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


_MODELS: Mapping[str | int, type[BaseModel]] = {
    "conditions": Condition,
    "scales": Scale,
    "published": Published,
    "sources": PublishedSource,
    "statements": PublishedStatement,
    "compare": PublishedComparison,
    "knee": Knee,
    "flat": Flat,
    "value": Value,
}
"""Keys of a file, and what is below them; a level is a Change."""


def _allowed(reason: Mapping[str, Any]) -> str:
    """Pydantic's message, in our words; for an unknown key, the nearest one that is allowed
    there.
    """
    if reason["type"] != "extra_forbidden":
        return expected(reason).removeprefix("value error, ")
    *above, key = reason["loc"]
    if not above:
        known = [name for name in Matrix.model_fields if name not in ("name", "command", "scale")]
        return f"there is no such key at the top level; {did_you_mean(str(key), known)}"
    model = next((_MODELS[name] for name in reversed(above) if name in _MODELS), Change)
    where = "in a level" if model is Change else "there"
    return f"there is no such key {where}; {did_you_mean(str(key), model.model_fields)}"


def _wrong(path: Path, line: int, text: str) -> SandboxError:
    return SandboxError(f"{path}:{line} is not a valid matrix", text, _next_step(path))


def _next_step(path: Path) -> str:
    return f"try: make matrix MATRIX={path} PLAN=1   (after fixing the file)"


def _refuse_unknown_terms(expression: str, library: Library) -> None:
    """Raises SandboxError (exit 2) for an unknown term, or an invalid count or version of a known
    one.

    Combinations are not checked: a level may be impossible with some levels and possible with
    others.
    """
    for term in parse(expression):
        refuse_misplaced(term, library)
        if term.name not in library.words():
            raise SandboxError(
                f"unknown term '{term.text}'", did_you_mean(term.name, library.words()), NEXT_STEP
            )
        if term.name in library.components.names():
            _refuse_unknown_version(term, library)
        elif term.count or term.version:
            known = "only a component does; this is a setting or a named profile"
            raise SandboxError(
                f"'{term.text}': '{term.name}' takes no count and no version", known, NEXT_STEP
            )


def _refuse_unknown_assignments(text: str, library: Library) -> None:
    """Raises SandboxError (exit 2) for an invalid assignment, or one for an unknown term."""
    for term, name, _ in split_assignments((text,)):
        component = (term or "").rstrip("0123456789")
        if term and component not in library.components.names():
            known = did_you_mean(component, library.components.names())
            raise SandboxError(f"SET: '{term}:{name}' names no component", known, NEXT_STEP)


def _refuse_no_image(text: str, _: Library) -> None:
    """Raises SandboxError (exit 2) for a text that names no image."""
    given_images((text,))


def _refuse_no_server(text: str, _: Library) -> None:
    """Raises SandboxError (exit 2) for a path without a server."""
    binaries_of((text,))


def _refuse_no_file(text: str, _: Library) -> None:
    """Raises SandboxError (exit 2) for a file that cannot be read."""
    read_configuration_files(text)


def _refuse_unknown_version(term: Term, library: Library) -> None:
    component = library.components.get(term.name)
    if term.count and not component.countable:
        raise SandboxError(
            f"'{term.text}': '{term.name}' takes no count", "a stack has one of it", NEXT_STEP
        )
    key = component.spec.image or term.name
    if term.version and key in library.catalog.images:  # a replica has the image of its group
        library.catalog.images[key].resolve(key, term.version)


def refuse_idle_factors(
    factors: Mapping[str, Mapping[str, Change]], uses: Iterable[Collection[str]]
) -> None:
    """Raises SandboxError (exit 2) for a factor with a parameter that no load uses: its levels
    would be equal.

    ``uses``: what each load uses, as `RunRequest.uses`.
    """
    used = frozenset[str]().union(*uses)
    for factor, levels in factors.items():
        changed = {key for change in levels.values() for key in change.model_fields_set}
        for word, parameter in PARAMETERS.items():
            if word in changed and parameter not in used:
                what = f"no workload of this matrix uses {word}, which the factor {factor} changes"
                known = "an option of a workload is a factor as option.<its name>: [<levels>]"
                raise SandboxError(what, known, "try: make list WHAT=workloads")

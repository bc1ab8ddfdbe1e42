"""A scenario: what a trial is asked to break, from fault profiles, names and steps as files have
them.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.core.paths import profile_folders, yaml_files
from sandbox.core.yaml_lines import YamlFile
from sandbox.failure.action import ACTION_KINDS, action_named
from sandbox.failure.fault import FAULT_KINDS, fault_named
from sandbox.measure.trial.schedule import (
    KEYS,
    SAME,
    RandomSteps,
    Schedule,
    Step,
    StepInFile,
    refuse_misfits,
)

FAULTS = profile_folders("faults")
FIRST_S = 10.0
"""When a fault that is only named comes: after a baseline."""


class FaultProfile(BaseModel):
    """A file of ``profiles/faults/``: steps, or what to draw them from."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    title: str = Field(min_length=1)
    steps: list[StepInFile] = Field(default_factory=list)
    random: RandomSteps | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "FaultProfile":
        if bool(self.steps) == bool(self.random):
            raise ValueError("it has either steps or random")
        refuse_misfits(self.steps)
        return self

    def schedule(self, seed: int = 1) -> Schedule:
        """Its steps; those that are drawn, by the seed."""
        return self.random.drawn(seed) if self.random else Schedule(steps=self.steps)


def schedule_names(folders: list[Path] = FAULTS) -> list[str]:
    """Names of all fault profiles."""
    return list(yaml_files(folders))


def named_profile(name: str, folders: list[Path] = FAULTS) -> FaultProfile:
    """The fault profile of a name. Raises SandboxError (exit 2) for an unknown name or an invalid
    file.
    """
    known = yaml_files(folders)
    if name not in known:
        step = "try: make trial FAULT=server-crash"
        raise SandboxError(f"there is no fault profile '{name}'", did_you_mean(name, known), step)
    return read_profile(known[name])


def read_profile(path: Path) -> FaultProfile:
    """The fault profile in a file. Raises SandboxError (exit 2) naming file, line, and what is
    allowed.
    """
    next_step = f"try: make trial FAULT={path.stem}   (after fixing the file)"
    file = YamlFile(path, "fault profile", next_step)
    if not isinstance(file.data, dict):
        raise file.wrong((), "a fault profile is a mapping: title, and steps or random")
    try:
        return FaultProfile.model_validate(file.data)
    except ValidationError as error:
        problem = _worst(error)
        place = _place(problem)
        text = _text(problem)
        raise file.wrong(
            place, f"{'.'.join(map(str, place))}: {text}" if place else text
        ) from error


@dataclass(frozen=True)
class Scenario:
    """The faults and actions that a trial is asked for, read once; a profile of random steps draws
    them from the seed of each run.
    """

    parts: tuple[FaultProfile, ...]

    @property
    def certain(self) -> list[str]:
        """Names of the faults that come whatever the seed is."""
        return [step.fault for part in self.parts for step in part.steps if step.fault]

    @property
    def aims(self) -> list[tuple[str, str]]:
        """Every fault or action with every target that it may have, whatever the seed is."""
        drawn = [part.random for part in self.parts if part.random]
        pairs = [
            (step.name, step.target)
            for part in self.parts
            for step in part.steps
            if step.target != SAME
        ]
        return [
            *pairs,
            *(pair for each in drawn for pair in itertools.product(each.faults, each.targets)),
        ]

    def schedule(self, seed: int = 1) -> Schedule:
        """The steps of all parts. Raises SandboxError (exit 2) where they do not fit together."""
        try:
            return Schedule(
                steps=[step for part in self.parts for step in part.schedule(seed).steps]
            )
        except ValidationError as error:
            raise _no_schedule(error) from error


def scenario_of(
    faults: Sequence[str | Mapping[str, Any]],
    target: str | None = None,
    folders: list[Path] = FAULTS,
) -> Scenario:
    """Names and steps together: of fault profiles, of faults or actions, and steps as a file has
    them.

    ``{named: hang, target: proxy}`` is a name with a target of its own. ``target``: what those hit
    that are only named; None: the writer, or what the profile says.

    Raises SandboxError (exit 2): unknown, not valid, or a profile of several targets where one is
    given.
    """
    try:
        made = Scenario(tuple(_profile_of(each, target, folders) for each in faults))
    except ValidationError as error:
        raise _no_schedule(error) from error
    made.schedule()
    return made


def _no_schedule(error: ValidationError) -> SandboxError:
    problem = _worst(error)
    place = ".".join(str(part) for part in _place(problem))
    what = f"these faults are no schedule{f': {place}' if place else ''}"
    return SandboxError(what, _text(problem), "try: make trial FAULT=server-crash")


def _profile_of(
    given: str | Mapping[str, Any], target: str | None, folders: list[Path]
) -> FaultProfile:
    if not isinstance(given, str):
        if isinstance(given, Mapping) and given.keys() == {"named", "target"}:
            return _profile_of(given["named"], given["target"], folders)
        return FaultProfile.model_validate({"title": "-", "steps": [given]})
    if given in schedule_names(folders):
        return _aimed(given, named_profile(given, folders), target)
    aim = target or "writer"
    if given in FAULT_KINDS.names():
        fault_named(given)  # says which option it needs, if any
        return FaultProfile(title="-", steps=[Step(at_s=FIRST_S, fault=given, target=aim)])
    if given in ACTION_KINDS.names():
        action_named(given)
        return FaultProfile(title="-", steps=[Step(at_s=FIRST_S, action=given, target=aim)])
    known = {*FAULT_KINDS.names(), *ACTION_KINDS.names(), *schedule_names(folders)}
    next_step = "try: make trial FAULT=server-crash"
    raise SandboxError(f"there is no fault '{given}'", did_you_mean(given, known), next_step)


def _aimed(name: str, profile: FaultProfile, target: str | None) -> FaultProfile:
    draws = profile.random
    own = {*draws.targets} if draws else {step.target for step in profile.steps}
    if target is None or own == {target}:
        return profile
    if len(own) > 1:
        known = f"it has several of its own: {', '.join(sorted(own))}"
        raise SandboxError(
            f"the fault profile {name} takes no target", known, f"try: make trial FAULT={name}"
        )
    if draws:
        return profile.model_copy(update={"random": draws.model_copy(update={"targets": [target]})})
    return profile.model_copy(
        update={"steps": [step.model_copy(update={"target": target}) for step in profile.steps]}
    )


def _worst(error: ValidationError) -> ErrorDetails:
    """The first problem; an unknown key before all, since it is a key that is missing elsewhere."""
    problems = error.errors()
    return next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])


def _place(problem: ErrorDetails) -> tuple[int | str, ...]:
    """Where in the file: fields under the names of their keys."""
    back = {field: key for key, field in KEYS.items()}
    place = tuple(
        back.get(part, part) if isinstance(part, str) else part for part in problem["loc"]
    )
    own = getattr(problem.get("ctx", {}).get("error"), "place", ())
    return (*(part for part in place if part != "options"), *own) if own else place


def _text(problem: ErrorDetails) -> str:
    """The values that are allowed; for an unknown key, the nearest one that there is."""
    if problem["type"] != "extra_forbidden":
        return expected(problem).removeprefix("value error, ")
    *above, key = problem["loc"]
    known = ("faults", "targets", "count", "every", "for") if above else FaultProfile.model_fields
    return f"there is no such key; {did_you_mean(str(key), known)}"

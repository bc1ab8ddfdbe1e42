"""A schedule is data: faults and actions in time, written in a fault profile, drawn from a seed, or
given by names.
"""

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ValidationInfo

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.core.paths import profile_folders, yaml_files
from sandbox.core.plugin_options import OptionValue, PluginOptionError
from sandbox.core.yaml_lines import YamlFile
from sandbox.failure.action import ACTION_KINDS, action_named
from sandbox.failure.fault import FAULT_KINDS, end_together, fault_named

FAULTS = profile_folders("faults")
LONGEST_S = 3600.0
FIRST_S = 10.0
"""When a fault that is only named comes: after a baseline."""
_SLACK_S = 0.0005
"""Sums of times in whole milliseconds are not exact."""
SAME = "same"
"""Target of a step: the nodes of the step before it, whatever they have become."""
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|m)")
_MS = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0}
_KEYS = {"at": "at_s", "for": "for_s", "fault": "fault", "action": "action", "target": "target"}
"""Key of a step in a file → its field; every other key is an option of the fault or action."""


def seconds(text: object) -> float:
    """``500ms``, ``1.5s`` or ``2m`` in seconds. Raises ValueError with what is allowed, for all
    else.
    """
    found = _LENGTH.fullmatch(text) if isinstance(text, str) else None
    ms = float(found[1]) * _MS[found[2]] if found else 0.0
    if not found or abs(ms - round(ms)) > 1e-6:
        raise ValueError(
            "a length of time such as 500ms, 10s or 2m is expected, in whole milliseconds"
        )
    return round(ms) / 1000


def length(seconds_: float) -> str:
    """A length of time as `seconds` reads it: ``500ms``, ``1.5s``, ``2m``. It is rounded to
    milliseconds.
    """
    ms = round(seconds_ * 1000)
    unit = "m" if ms and ms % 60_000 == 0 else "s" if ms >= 1000 else "ms"
    return f"{ms / _MS[unit]:.3f}".rstrip("0").rstrip(".") + unit


def span(text: object) -> tuple[float, float]:
    """``20s..40s``, or one length for both ends, in seconds. Raises ValueError with what is
    allowed.
    """
    low, dots, high = text.partition("..") if isinstance(text, str) else (text, "", "")
    found = seconds(low), seconds(high if dots else low)
    if found[0] > found[1]:
        raise ValueError(f"{text}: the shorter one comes first")
    return found


class MisplacedKeyError(ValueError):
    """An error of several fields together; ``place``: where it is wrong, from there down."""

    def __init__(self, text: str, *place: int | str) -> None:
        super().__init__(text)
        self.place = place


class Step(BaseModel):
    """One fault or one action in time. ``for_s`` None: until the trial has seen what it needs; an
    action has none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    at_s: float = Field(gt=0, le=LONGEST_S)
    fault: str | None = None
    action: str | None = None
    target: str = Field(default="writer", min_length=1)
    for_s: float | None = Field(default=None, gt=0, le=LONGEST_S)
    options: dict[str, OptionValue] = Field(default_factory=dict, validate_default=True)

    @field_validator("fault", "action")
    @classmethod
    def _is_known(cls, name: str | None, info: ValidationInfo) -> str | None:
        is_fault = info.field_name == "fault"
        known = FAULT_KINDS.names() if is_fault else ACTION_KINDS.names()
        if name is not None and name not in known:
            raise ValueError(f"there is no {info.field_name} '{name}'; {did_you_mean(name, known)}")
        return name

    @field_validator("options")
    @classmethod
    def _are_valid(
        cls, options: dict[str, OptionValue], info: ValidationInfo
    ) -> dict[str, OptionValue]:
        try:
            if info.data.get("fault"):
                fault_named(info.data["fault"], options)
            elif info.data.get("action"):
                action_named(info.data["action"], options)
        except PluginOptionError as error:
            raise MisplacedKeyError(f"{error.what}; {error.known}", error.option) from error
        return options

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "Step":
        if (self.fault is None) == (self.action is None):
            raise ValueError(
                "a step is either a fault or an action" + ("" if self.fault else ": which one?")
            )
        if self.action is not None and self.for_s is not None:
            raise MisplacedKeyError("an action has no length: it ends when it is done", "for")
        return self

    @model_validator(mode="after")
    def _ends_in_time(self) -> "Step":
        if self.end_s is not None and self.end_s > LONGEST_S + _SLACK_S:
            raise MisplacedKeyError(
                f"it ends after {length(LONGEST_S)}, the longest schedule", "for"
            )
        return self

    @property
    def name(self) -> str:
        """Of its fault or action."""
        return self.fault or self.action or ""

    @property
    def end_s(self) -> float | None:
        """When it is healed; None: not by time."""
        return None if self.for_s is None else self.at_s + self.for_s


class Schedule(BaseModel):
    """What breaks when, in seconds from the first acknowledged write on."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    steps: list[Step] = Field(min_length=1)

    @model_validator(mode="after")
    def _fit_together(self) -> "Schedule":
        refuse_misfits(self.steps)
        return self

    def in_time(self) -> list[Step]:
        """Its steps by when they begin."""
        return sorted(self.steps, key=lambda step: step.at_s)


def refuse_misfits(steps: Sequence[Step]) -> None:
    """Raises ValueError for steps that overlap with themselves, or that have none before them to be
    the same as.
    """
    first = min(range(len(steps)), key=lambda position: steps[position].at_s, default=0)
    if steps and steps[first].target == SAME:
        raise MisplacedKeyError(
            "there is no step before it whose nodes are the same", "steps", first, "target"
        )
    _refuse_overlaps(steps)


def _refuse_overlaps(steps: Sequence[Step]) -> None:
    """Raises ValueError where a fault hits a target whose other fault is not healed and would end
    with it.

    Actions may overlap.
    """
    for position, step in enumerate(steps):
        for other in steps[:position]:
            aimed_alike = step.target == other.target or (
                step.target == SAME and other is steps[position - 1]
            )
            clash = step.fault and other.fault and end_together(step.fault, other.fault)
            if aimed_alike and clash and _overlap(step, other):
                what = f"{step.fault} of {step.target} at {length(step.at_s)}"
                first = "the one" if step.fault == other.fault else other.fault
                raise MisplacedKeyError(
                    f"{what} overlaps with {first} at {length(other.at_s)}", "steps", position
                )


def _overlap(one: Step, other: Step) -> bool:
    first, second = sorted((one, other), key=lambda step: step.at_s)
    return first.end_s is None or second.at_s < first.end_s - _SLACK_S


def step_of(value: object) -> object:
    """A step as a file has it, with the options beside its other keys, as `Step` takes it."""
    if not isinstance(value, Mapping):
        if isinstance(value, Step):
            return value
        raise ValueError(
            "a step is a mapping: at, fault or action, target, for, and options of the fault or"
            " action"
        )
    step: dict[str, Any] = {_KEYS[key]: value[key] for key in _KEYS if value.get(key) is not None}
    for key in ("at", "for"):
        if _KEYS[key] in step:
            try:
                step[_KEYS[key]] = seconds(value[key])
            except ValueError as problem:
                raise MisplacedKeyError(str(problem), key) from problem
    return {
        **step,
        "options": {
            str(key): each for key, each in value.items() if not (key in _KEYS or each is None)
        },
    }


Span = Annotated[tuple[float, float], BeforeValidator(span)]
StepInFile = Annotated[Step, BeforeValidator(step_of)]


class RandomSteps(BaseModel):
    """Steps to draw: each begins ``every`` so many seconds, and is healed before the next one
    begins.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    faults: list[str] = Field(min_length=1)
    targets: list[str] = Field(default=["writer"], min_length=1)
    count: int = Field(ge=1, le=100)
    every: Span
    lasting: Span = Field(alias="for")

    @field_validator("faults")
    @classmethod
    def _are_known(cls, faults: list[str]) -> list[str]:
        for fault in faults:
            try:
                fault_named(fault)
            except SandboxError as error:
                raise ValueError(f"{error.what}; {error.known}") from error
        return faults

    @model_validator(mode="after")
    def _fit(self) -> "RandomSteps":
        if min(self.every[0], self.lasting[0]) <= 0:
            raise ValueError("every and for are longer than nothing")
        if self.lasting[1] > self.every[0]:
            raise ValueError(
                f"for is at most {length(self.every[0])}: each is healed before the next one begins"
            )
        if self.count * self.every[1] + self.lasting[1] > LONGEST_S:
            raise ValueError(f"count × every exceeds {length(LONGEST_S)}, the longest schedule")
        return self

    def drawn(self, seed: int) -> Schedule:
        """The schedule of a seed."""
        draw, at_s, steps = random.Random(seed), 0.0, []  # noqa: S311  (a schedule, not a secret)
        for _ in range(self.count):
            at_s = round(at_s + round(draw.uniform(*self.every), 3), 3)
            fault, target = draw.choice(self.faults), draw.choice(self.targets)
            steps.append(
                Step(
                    at_s=at_s,
                    fault=fault,
                    target=target,
                    for_s=round(draw.uniform(*self.lasting), 3),
                )
            )
        return Schedule(steps=steps)


class FaultProfile(BaseModel):
    """A file of ``profiles/faults/``: steps, or what to draw them from."""

    model_config = ConfigDict(extra="forbid", frozen=True)
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
    file = YamlFile(path, "fault profile")
    if not isinstance(file.data, dict):
        raise file.wrong((), "a fault profile is a mapping: title, and steps or random")
    try:
        return FaultProfile.model_validate(file.data)
    except ValidationError as error:
        problem = _worst(error)
        place, text = _place(problem), _text(problem)
        raise file.wrong(
            place, f"{'.'.join(map(str, place))}: {text}" if place else text
        ) from error


@dataclass(frozen=True)
class Scenario:
    """What a trial is asked for, read once; a profile of random steps draws them from the seed of
    each run.
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
    back = {field: key for key, field in _KEYS.items()}
    place = tuple(
        back.get(part, part) if isinstance(part, str) else part for part in problem["loc"]
    )
    own = getattr(problem.get("ctx", {}).get("error"), "place", ())
    return (*(part for part in place if part != "options"), *own) if own else place


def _text(problem: ErrorDetails) -> str:
    """What is allowed; for an unknown key, the nearest one that there is."""
    if problem["type"] != "extra_forbidden":
        return expected(problem).removeprefix("value error, ")
    *above, key = problem["loc"]
    known = ("faults", "targets", "count", "every", "for") if above else FaultProfile.model_fields
    return f"there is no such key; {did_you_mean(str(key), known)}"

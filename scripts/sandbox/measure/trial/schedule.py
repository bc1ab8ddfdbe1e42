"""A schedule is data: faults and actions in time, as given or drawn from a seed."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)
from pydantic_core.core_schema import ValidationInfo

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.core.plugin_options import OptionValue, PluginOptionError
from sandbox.failure.action import ACTION_KINDS, action_named
from sandbox.failure.fault import FAULT_KINDS, end_together, fault_named

LONGEST_S = 3600.0
_SLACK_S = 0.0005
"""Sums of times in whole milliseconds are not exact."""
SAME = "same"
"""Target of a step: the nodes of the step before it, whatever they have become."""
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|m)")
_MS = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0}
KEYS = {"at": "at_s", "for": "for_s", "fault": "fault", "action": "action", "target": "target"}
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
    if ms < 1000:
        unit = "ms"
    elif ms % 60_000:
        unit = "s"
    else:
        unit = "m"
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

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
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
        """The name of its fault or action."""
        return self.fault or self.action or ""

    @property
    def end_s(self) -> float | None:
        """When it is healed; None: not by time."""
        return None if self.for_s is None else self.at_s + self.for_s


class Schedule(BaseModel):
    """Faults and actions in time, in seconds from the first acknowledged write on."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
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
    step: dict[str, Any] = {KEYS[key]: value[key] for key in KEYS if value.get(key) is not None}
    for key in ("at", "for"):
        if KEYS[key] in step:
            try:
                step[KEYS[key]] = seconds(value[key])
            except ValueError as problem:
                raise MisplacedKeyError(str(problem), key) from problem
    return {
        **step,
        "options": {
            str(key): each for key, each in value.items() if not (key in KEYS or each is None)
        },
    }


Span = Annotated[tuple[float, float], BeforeValidator(span)]
StepInFile = Annotated[Step, BeforeValidator(step_of)]


class RandomSteps(BaseModel):
    """Steps to draw: each begins ``every`` so many seconds, and is healed before the next one
    begins.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
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
        draw = random.Random(seed)  # noqa: S311  (a schedule, not a secret)
        at_s = 0.0
        steps = []
        for _ in range(self.count):
            at_s = round(at_s + round(draw.uniform(*self.every), 3), 3)
            fault = draw.choice(self.faults)
            target = draw.choice(self.targets)
            steps.append(
                Step(
                    at_s=at_s,
                    fault=fault,
                    target=target,
                    for_s=round(draw.uniform(*self.lasting), 3),
                )
            )
        return Schedule(steps=steps)

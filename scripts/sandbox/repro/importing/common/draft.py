"""PURE: the draft of a repro that an import writes, and its text: YAML with remarks for a person
who finishes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

_WIDTH = 96


@dataclass(frozen=True, slots=True)
class NotTaken:
    """What the draft does without. ``place``: ``my.cnf:12``."""

    place: str
    what: str
    why: str

    @property
    def text(self) -> str:
        """In one line."""
        return f"{self.place}  {' '.join(self.what.split())[:80]}: {self.why}"


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step as the file has it. ``remarks``: lines of comment before it."""

    keys: Mapping[str, Any]
    remarks: Sequence[str] = ()


@dataclass(slots=True)
class ReproDraft:
    """A repro that a person may have to finish."""

    title: str
    question: str
    profile: str
    links: list[str] = field(default_factory=list)
    set: list[str] = field(default_factory=list)
    cpus: str | None = None
    memory: str | None = None
    load: dict[str, Any] = field(default_factory=dict)
    steps: list[DraftStep] = field(default_factory=list)
    bug: list[Mapping[str, Any]] = field(default_factory=list)
    fixed: list[Mapping[str, Any]] = field(default_factory=list)
    affected: dict[str, list[str]] = field(default_factory=dict)
    remarks: dict[str, list[str]] = field(default_factory=dict)
    """Key of the file → lines of comment before it."""
    left: list[NotTaken] = field(default_factory=list)

    def remark(self, key: str, *lines: str) -> None:
        """Adds lines of comment before a key."""
        self.remarks.setdefault(key, []).extend(lines)

    @property
    def to_finish(self) -> list[str]:
        """What a person must do, from its remarks."""
        steps = [line for step in self.steps for line in step.remarks]
        return [line for lines in [*self.remarks.values(), steps] for line in lines]


class _DraftDumper(yaml.SafeDumper):
    """Writes texts of several lines as they stand."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_DraftDumper.add_representer(str, _text)


def _yaml(value: Any) -> str:
    return str(
        yaml.dump(value, Dumper=_DraftDumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    )


def _remarks(lines: Sequence[str], indent: str = "") -> str:
    return "".join(f"{indent}# {line}\n" for line in lines)


def text_of(draft: ReproDraft) -> str:
    """The text of the draft's file."""
    parts = []
    single = ("title", "question", "links", "profile", "set", "cpus", "memory", "load")
    for key in single:
        value = getattr(draft, key)
        if value or key in ("title", "question", "profile"):
            parts.append(_remarks(draft.remarks.get(key, ())) + _yaml({key: value}))
    parts.append(_remarks(draft.remarks.get("steps", ())) + "steps:\n")
    for step in draft.steps:
        parts.append(_remarks(step.remarks, "  ") + _listed(step.keys, "  "))
    parts.append(_remarks(draft.remarks.get("expect", ())) + "expect:\n")
    for side in ("bug", "fixed"):
        parts.append(f"  {side}:\n" + "".join(_listed(e, "    ") for e in getattr(draft, side)))
    if draft.affected or "affected" in draft.remarks:
        parts.append(_remarks(draft.remarks.get("affected", ())))
        parts.append(_yaml({"affected": draft.affected}) if draft.affected else "")
    return "".join(parts)


def _listed(keys: Mapping[str, Any], indent: str) -> str:
    """An entry of a list, its lines indented; the lines of a text keep their own indentation."""
    lines = _yaml([dict(keys)]).splitlines()
    return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)

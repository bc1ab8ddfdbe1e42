"""PURE: the text of a bug report, as mail, Markdown or a tracker has it: its SQL as steps."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sandbox.repro.importing.common.draft import DraftStep, NotTaken, ReproDraft
from sandbox.repro.importing.common.options import Option, options_of_file, taken_over
from sandbox.repro.importing.common.servers import FAMILIES
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader, refused
from sandbox.repro.importing.common.statements import (
    Block,
    ReportedStatement,
    blocks_of,
    is_of_options,
    said_in,
)

_URL = re.compile(r"https?://[^\s)>\]\"']+")
_ISSUE = re.compile(r"\bMDEV-\d+\b")
_BUG = re.compile(r"\bbug\s*#?\s*(\d{4,6})\b", re.IGNORECASE)
_VERSION = re.compile(
    r"(?<![\d.])(?:5|8|9|1[0-2])\.\d{1,2}\.\d{1,3}(?:-\d{1,2}(?:\.\d)?)?(?!\.?\d)"
)
_QUESTION = re.compile(r"(?:^|[.!?]\s+)([A-Z][^.!?\n]{8,160}\?)", re.MULTILINE)
_SIGNAL = re.compile(r"\b(?:got )?signal (6|11)\b", re.IGNORECASE)
_GALERA = re.compile(r"\b(?:galera|wsrep|pxc|xtradb cluster)\b|wsrep_", re.IGNORECASE)
_GROUP = re.compile(r"group[ _]replication|innodb cluster", re.IGNORECASE)
_REPLICA = re.compile(
    r"\b(?:slave|replica)\b|show (?:slave|replica) status|change (?:master|replication source)",
    re.IGNORECASE,
)
_USE = re.compile(r"use\s+`?(?P<schema>\w+)`?$", re.IGNORECASE)
_MAKES = re.compile(
    r"create\s+(?:database|schema)\s+(?:if\s+not\s+exists\s+)?`?(?P<schema>\w+)", re.IGNORECASE
)
_WITHOUT_RESULT = re.compile(
    r"begin|start|commit|rollback|set|use|create|drop|alter|insert|delete\b", re.IGNORECASE
)
_LOST = (2006, 2013)
"""Codes with which a client notices that its server has gone."""
_WRITERS = ("master", "source", "primary", "writer")
_READERS = ("slave", "replica", "secondary")
_SHOWN = 8


class PastedReport(SourceReader):
    """Statements become steps of one session, or of those that the text names."""

    rank: ClassVar[int] = 100
    reads: ClassVar[str] = "the text of a bug report"

    def recognises(self, source: ImportSource) -> bool:
        return source.text is not None

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        del known
        text = source.text or ""
        blocks = blocks_of(text)
        statements = [block for block in blocks if not is_of_options(block)]
        said = said_in(statements)
        if not said:
            why = "there is no SQL in it: a statement ends with ; or stands behind mysql>"
            raise refused(source, why, "try: make help   (FROM= takes files of other kinds, too)")
        profile, remarks = _profile(text, said)
        draft = ReproDraft(_title(text, source), _question(text), profile)
        draft.links = _links(text)
        draft.remark("profile", *remarks, *_versions(text, source.name))
        options, left = _options(blocks, source.name)
        term = re.sub(r"\d+(?:\+.*)?$|\+.*$", "", profile)
        draft.set, owned = taken_over(options, term)
        draft.left = [*left, *owned]
        _steps(draft, said, source.name, profile)
        _expect(draft, text, term)
        example = f"affected: {{{FAMILIES[term]}: ['<10.11.16']}}"
        draft.remark("affected", f"{example} would say which versions have it.")
        draft.left += _without_sql(statements, said, source.name)
        return draft


def _title(text: str, source: ImportSource) -> str:
    for line in text.splitlines():
        title = line.strip().strip("#*= ").removeprefix("Subject:").strip()
        if title and not title.startswith(("```", "{code", "http")):
            return title[:100]
    return source.stem


def _question(text: str) -> str:
    found = _QUESTION.search(text)
    return found[1].strip() if found else "Does what the report shows come?"


def _links(text: str) -> list[str]:
    links = [url.rstrip(".,;") for url in _URL.findall(text)]
    links += [f"https://jira.mariadb.org/browse/{issue}" for issue in _ISSUE.findall(text)]
    links += [f"https://bugs.mysql.com/bug.php?id={bug}" for bug in _BUG.findall(text)]
    return list(dict.fromkeys(links))[:_SHOWN]


def _versions(text: str, name: str) -> list[str]:
    """The versions that the text names, each with its first line."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for version in _VERSION.findall(line):
            found.setdefault(version, number)
    if not found:
        return [f"{name} names no version: VERSIONS= takes some."]
    named = ", ".join(f"{version} (line {line})" for version, line in found.items())
    return [f"Named in {name}: {named}. VERSIONS= takes exact ones."]


def _profile(text: str, said: Sequence[ReportedStatement]) -> tuple[str, list[str]]:
    """The profile that the text and the marks of its sessions want."""
    words = text.lower()
    mariadb = len(re.findall(r"mariadb|mdev-", words))
    mysql = len(re.findall(r"\bmysql(?:d\b| server| community|[ -]\d)|\bbug #", words))
    percona = "percona server" in words
    is_mariadb = mariadb > mysql
    places = {each.place for each in said if each.place}
    if _GALERA.search(text):
        term = "pxc" if "xtradb cluster" in words or re.search(r"\bpxc\b", words) else "galera"
        return f"{term}3", ["The text is about a cluster: three members are assumed."]
    if _GROUP.search(text) and not is_mariadb:
        return "gr3", ["The text is about Group Replication: three members are assumed."]
    term = "mariadb" if is_mariadb else "ps" if percona else "mysql"
    named = any(place.split()[0] in (*_WRITERS, *_READERS) for place in places)
    if named or _REPLICA.search(text):
        return f"{term}+replica1", ["The text is about replication: one replica is assumed."]
    return term, []


def _options(blocks: Sequence[Block], name: str) -> tuple[list[Option], list[NotTaken]]:
    """The options of option files that the text shows."""
    options: list[Option] = []
    left: list[NotTaken] = []
    for block in blocks:
        if is_of_options(block):
            found, others = options_of_file("\n" * (block.first - 1) + block.text, name)
            options += [replace(each, number=None) for each in found]
            left += others
    return options, left


def _steps(draft: ReproDraft, said: Sequence[ReportedStatement], name: str, profile: str) -> None:
    """The statements as steps; what waits is waited for before its session goes on."""
    made = {found["schema"] for each in said if (found := _MAKES.match(each.sql))}
    opened: set[str] = set()
    waiting: dict[str, ReportedStatement] = {}
    for each in said:
        if (found := _USE.match(each.sql)) and found["schema"] not in made:
            why = "sessions are in the schema repro"
            draft.left.append(NotTaken(f"{name}:{each.line}", each.sql, why))
            continue
        if each.session in waiting:
            draft.steps.append(_ended(waiting.pop(each.session)))
        head = each.session
        if each.session not in opened:
            place, why_not = _place(each.place, profile)
            head = f"{each.session} @{place}"
            opened.add(each.session)
            if why_not:
                draft.left.append(NotTaken(f"{name}:{each.line}", str(each.place), why_not))
        keys: dict[str, Any] = {head: each.sql}
        if each.waits:
            keys["blocks"] = True
            waiting[each.session] = each
        elif each.error is not None:
            keys["error"] = each.error
        draft.steps.append(DraftStep(keys))
    draft.steps += [_ended(each) for each in waiting.values()]
    draft.remark("steps", f"From {name}: one session where the text names none. Look at the order.")


def _ended(said: ReportedStatement) -> DraftStep:
    keys: dict[str, Any] = {"ends": said.session}
    if said.error is not None:
        keys["error"] = said.error
    return DraftStep(keys)


def _place(word: str | None, profile: str) -> tuple[str, str | None]:
    """The place of a session by the word that the text has; why it is another one."""
    if word is None:
        return "writer", None
    kind, _, number = word.partition(" ")
    if kind in _WRITERS:
        return "writer", None
    base, _, more = profile.partition("+")
    term = re.sub(r"\d+$", "", base)
    members = int(base.removeprefix(term) or 1)
    if kind in _READERS and more.startswith("replica"):
        return "replica1", None
    if number and int(number) <= members:
        return f"{term}{number}", None
    return "writer", f"the profile {profile} has no such node"


def _expect(draft: ReproDraft, text: str, term: str) -> None:
    """What was seen: the last error, else the outcome of the last statement that has one."""
    failing = [step for step in draft.steps if "error" in step.keys]
    found = failing[-1] if failing else _last_with_outcome(draft.steps)
    keys = dict(found.keys)
    code = keys.pop("error", None)
    remarks = [] if failing else ["What was wrong here? The expectations judge this step."]
    named = DraftStep({**keys, "name": "seen"}, remarks)
    draft.steps = [named if step is found else step for step in draft.steps]
    signal = _SIGNAL.search(text)
    if signal or code in _LOST:
        draft.bug = [{f"crash @{term}1": int(signal[1]) if signal else "any"}]
    elif code is not None:
        draft.bug = [{"result": "seen", "error": code}]
    else:
        draft.bug = [{"result": "seen", "error": "any"}]
        draft.remark(
            "expect",
            "The text does not say what came in a form that can be read. Put here what was seen",
            "(rows, matches, error, affected, warning), and what is right.",
        )
    draft.fixed = [{"result": "seen"}]


def _last_with_outcome(steps: Sequence[DraftStep]) -> DraftStep:
    for step in reversed(steps):
        head, statement = next(iter(step.keys.items()))
        is_plain = head != "ends" and "blocks" not in step.keys
        if is_plain and not _WITHOUT_RESULT.match(str(statement)):
            return step
    plain = [step for step in steps if "blocks" not in step.keys]
    return (plain or list(steps))[-1]


def _without_sql(
    blocks: Sequence[Block], said: Sequence[ReportedStatement], name: str
) -> Iterator[NotTaken]:
    """Blocks of code in which no statement is."""
    lines = {each.line for each in said}
    for block in blocks:
        last = block.first + len(block.lines) - 1
        if block.text.strip() and not any(block.first <= line <= last for line in lines):
            first = next(line for line in block.lines if line.strip())
            place = f"{name}:{block.first}-{last}" if last > block.first else f"{name}:{last}"
            yield NotTaken(place, first, "no SQL was found in these lines")

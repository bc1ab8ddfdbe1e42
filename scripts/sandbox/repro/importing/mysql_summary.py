"""PURE: reports of pt-summary and pt-mysql-summary: version, option file, memory, processors."""

import re
from typing import ClassVar

from sandbox.repro.importing.common.draft import NotTaken, ReproDraft
from sandbox.repro.importing.common.options import Option, options_of_file, taken_over
from sandbox.repro.importing.common.seen import members_of, seen_in_options
from sandbox.repro.importing.common.servers import SeenServer, term_with_version
from sandbox.repro.importing.common.setups import setup_draft
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader, refused

_OF_SERVER = "Percona Toolkit MySQL Summary Report"
_OF_MACHINE = "Percona Toolkit System Summary Report"
_HEADING = re.compile(r"(?=.{60,}$)# (?P<name>.+?) #{2,}\s*$")
_PAIR = re.compile(r"^\s*(?P<name>[\w ()/.-]+?)\s*\|\s*(?P<value>.*\S)\s*$")
_VIRTUAL = re.compile(r"virtual = (?P<number>\d+)")
_MOST_CPUS = 64


class MysqlSummary(SourceReader):
    """Version and option file of a server, memory and processors of its machine."""

    rank: ClassVar[int] = 20
    reads: ClassVar[str] = "a report of pt-mysql-summary or pt-summary"

    def recognises(self, source: ImportSource) -> bool:
        text = source.text or ""
        return _OF_SERVER in text or _OF_MACHINE in text

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        sections = _sections(source.text or "")
        pairs = {(title, name): (value, line) for title, name, value, line in _pairs(sections)}
        version, line = next(
            (found for (_, name), found in pairs.items() if name == "Version"), (None, 0)
        )
        options, left = _configuration(sections, source.name)
        if version is None and not options:
            why = "it has neither a version nor an option file: pt-summary is of the machine alone"
            raise refused(source, why, "try: make import FROM=<output of pt-mysql-summary>")
        seen = seen_in_options(options)
        words = f"{version or ''} {seen.words}"
        server = SeenServer(version, words, seen.galera, seen.group)
        count = members_of(server, options)
        place = f"{source.name}:{line}" if line else source.name
        term, unknown = term_with_version(server, known, place, count)
        settings, owned = taken_over(options, server.term, known.defaults(term))
        title = f"The server of {source.name}"
        draft = setup_draft(title, term, settings, [*left, *unknown, *owned])
        _machine(draft, pairs, source.name)
        return draft


_Sections = list[tuple[str, int, list[str]]]


def _sections(text: str) -> _Sections:
    """Heading, line of its first line, and lines, of each section."""
    sections: _Sections = [("", 1, [])]
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HEADING.match(line):
            sections.append((found["name"], number + 1, []))
        else:
            sections[-1][2].append(line)
    return sections


def _pairs(sections: _Sections) -> list[tuple[str, str, str, int]]:
    found = []
    for title, first, lines in sections:
        for number, line in enumerate(lines, first):
            if pair := _PAIR.match(line):
                found.append((title, pair["name"].strip(), pair["value"], number))
    return found


def _configuration(sections: _Sections, name: str) -> tuple[list[Option], list[NotTaken]]:
    """The option file that the report shows, with the lines of the report."""
    for title, first, lines in sections:
        if title == "Configuration File":
            own = "\n".join("" if _PAIR.match(line) else line for line in lines)
            return options_of_file("\n" * (first - 1) + own, name)
    return [], []


def _machine(draft: ReproDraft, pairs: dict[tuple[str, str], tuple[str, int]], name: str) -> None:
    """Memory and processors: as remarks, since this machine may have less."""
    said = []
    memory = pairs.get(("Memory", "Total"))
    if memory:
        said.append(f"memory {memory[0]}")
        why = "a limit for each server; MEMORY= sets one"
        draft.left.append(NotTaken(f"{name}:{memory[1]}", f"Memory, Total {memory[0]}", why))
    for (_, key), (value, line) in pairs.items():
        virtual = _VIRTUAL.search(value) if key == "Processors" else None
        if virtual and 0 < int(virtual["number"]) <= _MOST_CPUS:
            said.append(f"{virtual['number']} processors")
            why = "a limit for each server; CPUS= sets one"
            draft.left.append(NotTaken(f"{name}:{line}", f"Processors {virtual[0]}", why))
    if said:
        draft.remark("profile", f"There the machine had {', '.join(said)}.")

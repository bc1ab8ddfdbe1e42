"""PURE: option files: my.cnf, or a folder of them."""

import re
from typing import ClassVar

from sandbox.repro.importing.common.draft import NotTaken, ReproDraft
from sandbox.repro.importing.common.options import Option, options_of_file, taken_over
from sandbox.repro.importing.common.seen import seen_in_options, term_of
from sandbox.repro.importing.common.setups import setup_draft
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader

_GROUP = re.compile(r"^\s*\[(?:mysqld|mariadbd?|server|galera)[\w.-]*\]\s*$", re.MULTILINE)
_ENDINGS = (".cnf", ".ini")


class OptionFiles(SourceReader):
    """Variables of the groups that servers read become ``set``."""

    rank: ClassVar[int] = 60
    reads: ClassVar[str] = "an option file (my.cnf), or a folder of them"

    def recognises(self, source: ImportSource) -> bool:
        if source.text is None:
            return any(name.endswith(_ENDINGS) for name in source.names)
        if source.name.endswith(_ENDINGS):
            return True
        first = source.text.lstrip()[:1]
        return first in ("[", "#", "!") and _GROUP.search(source.text) is not None

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        options: list[Option] = []
        left: list[NotTaken] = []
        for name, text in _files(source):
            found, others = options_of_file(text, name)
            options += found
            left += others
        server = seen_in_options(options)
        settings, owned = taken_over(options, server.term, known.defaults(server.term))
        title = f"The servers of {source.name or 'an option file'}"
        draft = setup_draft(title, term_of(server, options), settings, [*left, *owned])
        draft.remark("profile", "An option file does not say the version: VERSIONS= takes some.")
        return draft


def _files(source: ImportSource) -> list[tuple[str, str]]:
    """Name and text of the files in the order in which a server reads them."""
    if source.text is not None:
        return [(source.name, source.text)]
    names = sorted(name for name in source.names if name.endswith(_ENDINGS))
    return [(name, text) for name in names if (text := source.read(name)) is not None]

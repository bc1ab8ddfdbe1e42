"""PURE: which server a source speaks of: the term of a profile for a version and its words."""

import re
from dataclasses import dataclass

from sandbox.profile.versions import belongs_to
from sandbox.repro.importing.common.draft import NotTaken
from sandbox.repro.importing.common.source import Known

_NUMBERS = re.compile(r"(?:5\.5\.5-)?(?P<version>\d+\.\d+(?:\.\d+)?(?:-\d+(?:\.\d+)?)?)")
"""5.5.5- stands before a MariaDB's version for old clients."""
FAMILIES = {
    "mysql": "mysql", "ps": "mysql", "pxc": "mysql", "gr": "mysql", "psgr": "mysql",
    "mariadb": "mariadb", "galera": "mariadb",
}  # fmt: skip
"""Term of a server → its family."""


@dataclass(frozen=True, slots=True)
class SeenServer:
    """A server as a source describes it. ``words``: all that may name its product."""

    version: str | None
    words: str = ""
    galera: bool = False
    group: bool = False
    """Whether it is a member of Group Replication."""

    @property
    def term(self) -> str:
        """The term of its kind, without a version."""
        words = f"{self.version or ''} {self.words}".lower()
        if "mariadb" in words:
            return "galera" if self.galera else "mariadb"
        if "xtradb cluster" in words or (self.galera and "percona" in words):
            return "pxc"
        if "percona" in words:
            return "psgr" if self.group else "ps"
        if self.galera:
            return "galera"
        return "gr" if self.group else "mysql"

    @property
    def number(self) -> str | None:
        """Its exact version, as a term takes it."""
        found = _NUMBERS.match((self.version or "").strip())
        if found is None:
            return None
        version = found["version"]
        # Only Percona's versions have a number behind a dash; others' is the packaging's.
        return version if self.term in ("ps", "pxc", "psgr") else version.partition("-")[0]


def term_with_version(
    server: SeenServer, known: Known, place: str, count: int | None = None
) -> tuple[str, list[NotTaken]]:
    """``mariadb@10.11.18``, or without the version where there is no such series here."""
    term = server.term
    name = f"{term}{count or ''}"
    number = server.number
    if number is None:
        return name, []
    series = known.series.get(term, ())
    if any(belongs_to(number, each) or number == each for each in series):
        return f"{name}@{number}", []
    known_ones = ", ".join(series) or "none"
    why = f"there is no series of it here ({known_ones}); the profile has the default one"
    return name, [NotTaken(place, f"version {number}", why)]

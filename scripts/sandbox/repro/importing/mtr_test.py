"""PURE: a .test file of the servers' own test language, with the option files beside it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from sandbox.profile.names import bare
from sandbox.repro.importing.common.draft import DraftStep, NotTaken, ReproDraft
from sandbox.repro.importing.common.options import (
    Option,
    options_of_file,
    options_of_words,
    taken_over,
)
from sandbox.repro.importing.common.servers import FAMILIES
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader
from sandbox.repro.mysqltest import sourced

_COUNTS = (
    re.compile(r"\$(?:galera_cluster_size|rpl_server_count)\s*=\s*(\d)"),
    re.compile(r"galera_(?:cluster_)?(\d)nodes"),
    re.compile(r"\$rpl_topology\s*=\s*[\d>,\s-]*?(\d)\s*$", re.MULTILINE),
)
_OF_MYSQL = re.compile(
    r"include/rpl/|group_replication|START REPLICA|CHANGE REPLICATION SOURCE|BUG#"
)
_OF_MARIADB = re.compile(r"MDEV-\d|mariadb|MASTER_USE_GTID|gtid_slave_pos", re.IGNORECASE)
_REPLICATES = re.compile(
    r"include/(?:master-slave|rpl_init|rpl/init|rpl/init_source_replica)\.inc$"
)
_CANNOT = (
    (
        re.compile(r"(?:re)?start_mysqld|shutdown_mysqld|kill_mysqld|kill_galera|shutdown_server"),
        "its driver starts and ends servers as processes; steps of a repro do (restart, break)",
    ),
    (re.compile(r"have_debug"), "it is for servers that are built with debugging"),
    (
        re.compile(r"@@datadir|\$MYSQLD_DATADIR|secure_file_priv", re.IGNORECASE),
        "the files of a server are in its own container",
    ),
    (re.compile(r"\$\w*MYSOCK"), "sockets are in the servers' own containers"),
    (re.compile(r"\$MYSQLD\w*_CMD|\$MYSQLD_BOOTSTRAP"), "its driver starts servers by itself"),
)
"""What a test may use that is not there → why."""
_OF_DRIVER = re.compile(r"(?:.*/)?default_\w+\.cnf")
_TAKEN_OF_DRIVER = frozenset(
    {
        "character_set_server",
        "collation_server",
        "default_storage_engine",
        "local_infile",
        "sql_mode",
        "log_bin_trust_function_creators",
        "innodb_stats_persistent",
        "explicit_defaults_for_timestamp",
        "binlog_direct_non_transactional_updates",
    }
)
"""Variables that its driver gives every server and that change results; the others make servers
small.
"""
_SWITCHES = ("innodb", "aria")
"""Names of engines alone: that they are there."""
_ROOTS = ("../../..", "..", "../..", "../../../..")
"""From the folder of a test, where the folder of the suites may be."""


class MtrTest(SourceReader):
    """A step ``mysqltest``; the profile by what the test sources, ``set`` by its option files."""

    rank: ClassVar[int] = 5
    reads: ClassVar[str] = "a .test file of the servers' test suites"

    def recognises(self, source: ImportSource) -> bool:
        return source.text is not None and source.name.endswith(".test")

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        del known
        text = source.text or ""
        own = source.read(f"{source.name.removesuffix('.test')}.cnf") or ""
        profile, remarks = _profile(source.path, f"{own}\n{text}")
        node = re.sub(r"\d+$", "", profile)
        servers = int(profile.removeprefix(node) or 1)
        options, left = _Beside(source).options()
        settings, owned = taken_over([o for o in options if (o.number or 1) <= servers], node)
        if node == "mariadb" and profile != node:
            # The stack's own value, under which a test that writes at two servers fails.
            settings.insert(0, "gtid_strict_mode=OFF")
        draft = ReproDraft(f"The test {source.stem}", f"Does {source.name} pass?", profile)
        draft.set = settings
        draft.remark("profile", *remarks)
        draft.steps = [DraftStep({"mysqltest": source.path, "name": "test"})]
        draft.bug = [{"result": "test", "error": "any"}]
        draft.fixed = [{"result": "test"}]
        draft.affected = {FAMILIES[node]: []}
        draft.remark("affected", "Versions in which it fails, such as '<10.11.16'; empty: none.")
        draft.left = [*_unusable(source.name, text), *left, *owned]
        return draft


def _profile(path: str, text: str) -> tuple[str, list[str]]:
    """The profile that a test wants, and what a person should know of it."""
    includes = sourced(text)
    found = [int(match[1]) for pattern in _COUNTS if (match := pattern.search(text))]
    count = found[0] if found else 2
    if any("galera" in each for each in includes):
        return f"galera{max(count, 2)}", []
    if any("group_replication" in each for each in includes):
        remark = "The group is formed already: a test that forms it by itself does not get far."
        return f"gr{max(count, 3)}", [remark]
    family, remarks = _family(path, text)
    if any(_REPLICATES.search(each) for each in includes):
        remark = "Servers of their own: what the test sources makes one a replica of another."
        return f"{family}{max(count, 2)}", [remark, *remarks]
    return family, remarks


def _family(path: str, text: str) -> tuple[str, list[str]]:
    mysql = len(_OF_MYSQL.findall(text))
    mariadb = len(_OF_MARIADB.findall(text)) + 2 * ("mariadb" in path.lower())
    if mysql > mariadb:
        return "mysql", []
    if mariadb > mysql:
        return "mariadb", []
    return "mariadb", ["The test does not say of which family it is: PROFILE= takes the other."]


def _unusable(name: str, text: str) -> Iterator[NotTaken]:
    """Lines of the test that use what is not there."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for pattern, why in _CANNOT:
            if pattern.search(line):
                yield NotTaken(f"{name}:{number}", line.strip(), why)
                break


class _Beside:
    """The option files of one test: its own .cnf, else its suite's; .opt files."""

    def __init__(self, source: ImportSource) -> None:
        self._source = source
        self._options: list[Option] = []
        self._left: list[NotTaken] = []
        self._read: set[str] = set()

    def options(self) -> tuple[list[Option], list[NotTaken]]:
        """The options by server, and what could not be taken from the files."""
        stem = self._source.name.removesuffix(".test")
        for name in (f"{stem}.cnf", "my.cnf", "../my.cnf"):
            if self._file(name):
                break
        for name, number in (
            ("../suite.opt", None),
            (f"{stem}.opt", None),
            (f"{stem}-master.opt", 1),
            (f"{stem}-slave.opt", 2),
        ):
            self._words(name, number)
        return self._options, self._left

    def _file(self, path: str, folder: str = "") -> bool:
        """Reads an option file, and those that it includes, which stand before it."""
        for place in _places(path, folder):
            text = self._source.read(place)
            if text is not None:
                break
        else:
            return False
        if place in self._read:
            return True
        self._read.add(place)
        for line in text.splitlines():
            if found := re.match(r"\s*!include\s+(\S+)", line):
                own = place.rpartition("/")[0]
                if not self._file(found[1], own):
                    why = "it is not beside the test"
                    self._left.append(NotTaken(place, line.strip(), why))
        self._take(place, text)
        return True

    def _take(self, place: str, text: str) -> None:
        # A comment without a blank is a word for the driver: #!use-slave-opt, #galera_port=…
        options, left = options_of_file(text, place.rpartition("/")[2])
        self._left += [each for each in left if not each.what.startswith(("!include", "["))]
        for option in options:
            name = bare(option.name)
            is_taken = name in _TAKEN_OF_DRIVER or not _OF_DRIVER.fullmatch(place)
            if is_taken and name not in _SWITCHES:
                self._options.append(option)

    def _words(self, name: str, number: int | None) -> None:
        text = self._source.read(name)
        if text is None:
            return
        options, left = options_of_words(shlex.split(text, comments=True), name)
        self._options += [replace(option, number=number) for option in options]
        self._left += left


def _places(path: str, folder: str) -> list[str]:
    """Where an option file may be, from the folder of the test: beside the one that names it, or
    below the folder of the suites.
    """
    beside = f"{folder}/{path}" if folder else path
    return [beside, *(f"{root}/{path}" for root in _ROOTS)]

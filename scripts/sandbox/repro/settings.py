"""PURE: two configurations of servers, the variables in which they differ, and what is between."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.core.errors import SandboxError
from sandbox.profile.grammar import split_assignments
from sandbox.profile.names import bare

Name = tuple[str | None, str]
"""The term or node that a variable is set for (None: every server), and its name."""
Configuration = Mapping[Name, str]
_SECTIONS = re.compile(r"(server|mysqld|mariadbd|mariadb|galera)(-\d+(\.\d+)?)?", re.IGNORECASE)
_SECTION = re.compile(r"\[(?P<name>[^]]+)\]")
_LINE = re.compile(r"(?P<name>[A-Za-z][\w.-]*)\s*(?:=\s*(?P<value>.*))?")
OF_THE_STACK = frozenset(
    {
        *("basedir", "bind_address", "datadir", "general_log_file", "lc_messages_dir", "log_error"),
        *("pid_file", "plugin_dir", "port", "report_host", "report_port", "secure_file_priv"),
        *("server_id", "slow_query_log_file", "socket", "tmpdir", "user"),
    }
)
"""Where a server is and who it is: that is the stack's, whatever a file of somebody's says."""
_ON = "ON"
"""What an option without a value means."""
_EXAMPLE = (
    "try: make bisect REPRO=snapshot-isolation-1020 OVER=settings"
    " GOOD=innodb_snapshot_isolation=OFF BAD=innodb_snapshot_isolation=ON"
)


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A variable that two configurations do not set alike. None: one does not set it."""

    name: Name
    good: str | None
    bad: str | None

    @property
    def variable(self) -> str:
        """``replica:read_only``, as SET= takes it."""
        term, name = self.name
        return f"{term}:{name}" if term else name

    @property
    def text(self) -> str:
        """``read_only=ON, with GOOD OFF``."""
        return f"{self.variable}={_said(self.bad)}, with GOOD {_said(self.good)}"


def _said(value: str | None) -> str:
    if value is None:
        return "not set"
    return value or "empty"


def configuration_of(text: str) -> Configuration:
    """The variables of a SET= text. Raises SandboxError (exit 2) for a text that is none."""
    return {(term, bare(name)): value for term, name, value in split_assignments((text,))}


def configuration_in(file: str, content: str) -> Configuration:
    """The variables of an option file, of its sections for servers; without `OF_THE_STACK`.

    Raises SandboxError (exit 2) naming file and line of what is no option; an ``!include`` is none,
    since only this file is read.
    """
    found: dict[Name, str] = {}
    is_for_servers = False
    for number, line in enumerate(content.splitlines(), 1):
        text = line.strip()
        if not text or text[0] in "#;":
            continue
        if section := _SECTION.fullmatch(text):
            is_for_servers = _SECTIONS.fullmatch(section["name"].strip()) is not None
            continue
        option = _LINE.fullmatch(text)
        if option is None:
            what = f"{file}, line {number}: {text!r} is no option"
            raise SandboxError(what, "name = value, below [mysqld] or [server]", _EXAMPLE)
        name = bare(option["name"])
        if is_for_servers and name not in OF_THE_STACK:
            found[(None, name)] = _value(option["value"])
    return found


def _value(text: str | None) -> str:
    """A value without its quotes, and without a comment behind it."""
    if text is None:
        return _ON
    quoted = re.fullmatch(r"(['\"])(?P<inner>.*)\1\s*(#.*)?", text.strip())
    return quoted["inner"] if quoted else re.sub(r"\s+#.*", "", text.strip())


def differences(good: Configuration, bad: Configuration) -> list[SettingDifference]:
    """Variables that the two do not set alike, in the order of BAD, then of GOOD.

    Raises SandboxError (exit 2) where they are alike.
    """
    names = dict.fromkeys([*bad, *good])
    found = [SettingDifference(each, good.get(each), bad.get(each)) for each in names]
    found = [each for each in found if each.good != each.bad]
    if not found:
        what = "GOOD and BAD set the same variables to the same values"
        raise SandboxError(what, ", ".join(name for _, name in names) or "none", _EXAMPLE)
    return found


def between(
    good: Configuration,
    all_of_them: Sequence[SettingDifference],
    as_bad: Sequence[SettingDifference],
) -> list[str]:
    """GOOD's variables with some differences as BAD has them, as SET= takes them."""
    values: dict[Name, str | None] = {**good}
    for each in all_of_them:
        values[each.name] = each.bad if each in as_bad else each.good
    return [
        shlex.quote(f"{f'{term}:' if term else ''}{name}={value}")
        for (term, name), value in values.items()
        if value is not None
    ]

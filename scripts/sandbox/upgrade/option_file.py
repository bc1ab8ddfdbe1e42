"""PURE: the lines of an option file for servers, and what two servers say of each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.profile.names import canonical
from sandbox.record.upgrade import UpgradeFinding
from sandbox.upgrade.plans import Family

_GROUPS: dict[Family, tuple[str, ...]] = {
    "mariadb": ("mysqld", "server", "mariadb", "mariadbd"),
    "mysql": ("mysqld", "server"),
}
_SAYS = re.compile(r"unknown|error|removed|deprecated|ignored|obsolete", re.IGNORECASE)
_NOISE = re.compile(
    r"^(?:[\d-]+[T ][ \d:.]+Z?\s*\d*\s*)?(?:\[\w+\]\s*)*(?:\S*(?:mysqld|mariadbd): )?"
)
ASK = """\
server=$1
shift
for option in "$@"; do
  printf '\\036%s\\n' "$option"
  timeout 30 "$server" --no-defaults --user=root "$option" --verbose --help 2>&1 >/dev/null
  printf '\\037%s\\n' $?
done
"""
"""Asks a server's program about each option by itself: with all of them it names the first one."""


@dataclass(frozen=True, slots=True)
class FileOption:
    """A line of an option file."""

    line: int
    text: str
    """As written."""
    argument: str
    """As an argument of the server's program."""

    @property
    def name(self) -> str:
        """With underscores, without ``loose_``."""
        plain = canonical(self.argument.removeprefix("--").partition("=")[0])
        return plain.removeprefix("loose_")


def options_in(content: str, family: Family) -> list[FileOption]:
    """The options of a file for servers of a family; also those of a group of one version."""
    found = []
    group = ""
    for number, raw in enumerate(content.splitlines(), 1):
        line = raw.strip()
        if line.startswith("[") and "]" in line:
            group = line[1 : line.index("]")].strip()
        elif line and line[0] not in "#;!" and _is_for_server(group, family):
            found.append(FileOption(number, line, _argument(line)))
    return found


def _is_for_server(group: str, family: Family) -> bool:
    return re.sub(r"-[\d.]+$", "", group) in _GROUPS[family]


def _argument(line: str) -> str:
    name, equals, value = line.partition("=")
    if not equals:
        return f"--{name.strip()}"
    value = re.sub(r"\s+#.*$", "", value.strip())
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return f"--{name.strip()}={value}"


def said_of_options(output: str) -> dict[str, tuple[bool, str]]:
    """By argument, whether the program takes it, and what it says of it; from the output of
    `ASK`.
    """
    found = {}
    for part in output.split("\x1e")[1:]:
        said, _, code = part.partition("\x1f")
        argument, _, text = said.partition("\n")
        telling = [_NOISE.sub("", line.strip()) for line in text.splitlines() if _SAYS.search(line)]
        found[argument] = (code.strip() == "0", "; ".join(dict.fromkeys(telling)))
    return found


def option_findings(
    name: str,
    options: Sequence[FileOption],
    on_from: dict[str, tuple[bool, str]],
    on_to: dict[str, tuple[bool, str]],
) -> list[UpgradeFinding]:
    """A finding for each line of which the two programs do not say the same."""
    found = []
    for option in options:
        old_takes, old_says = on_from.get(option.argument, (True, ""))
        new_takes, new_says = on_to.get(option.argument, (True, ""))
        if old_takes == new_takes and (not new_says or bool(old_says) == bool(new_says)):
            continue
        found.append(
            UpgradeFinding(
                kind="configuration",
                matters=old_takes and not new_takes,
                on_from=_said(old_takes, old_says),
                on_to=_said(new_takes, new_says),
                query=f"{name}:{option.line}: {option.text}",
            )
        )
    return found


def _said(takes: bool, says: str) -> str:
    word = "taken" if takes else "refused"
    return f"{word}: {says}" if says else word

"""PURE: a .test file for the servers' own mysqltest: what it sources, where it stands among the
suites, the accounts that it expects, what its output means.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

IMAGES = {"mariadb": "mariadb-test", "mysql": "mysql-test"}
"""By family, the image that has mysqltest; its series are those of the servers."""
SKIPPED = 62
"""Exit code of mysqltest for a test that says itself that it cannot run here."""
_SOURCE = re.compile(r"^[ \t]*(?:--[ \t]*)?source[ \t]+([^\s;$]+);?[ \t]*$", re.MULTILINE)
_REPLICATES = re.compile(r"include/(?:rpl|master-slave)")
_FAILED = re.compile(r"At line (?P<line>\d+): (?P<what>.*)")
_INCLUDED = re.compile(r"In included file \"?(?P<file>[^\":]+)\"?")
_CODES = (
    re.compile(r"ERROR (\d+) \("),
    re.compile(r"failed.*?: \w+ \((\d+)\)"),
    re.compile(r"wrong errno \w+ \((\d+)\)"),
    re.compile(r"(?:failed: |wrong errno )(\d+)"),
)
"""The server's code as MySQL's mysqltest has it, in a line of its own; as MariaDB's has it, with
its name or without.
"""
_SKIP = re.compile(r"^(?:reason: |The test '.*' is not supported: |mysqltest: )?(?P<why>.+)$")
_MISMATCH = ("Result content mismatch", "Result length mismatch")


def sourced(text: str) -> list[str]:
    """The files that a test sources, as it names them; without those named by a variable."""
    return list(dict.fromkeys(_SOURCE.findall(text)))


def place_of(path: str) -> str:
    """Where a test stands below the folder of the suites: ``suite/galera/t/x.test``, as in the
    server's own sources; ``main/x.test`` or ``x.test`` without a suite.
    """
    parts = path.split("/")
    if "suite" in parts[:-1]:
        return "/".join(parts[parts.index("suite") :])
    above = parts[-2:-1]
    return f"main/{parts[-1]}" if above in (["main"], ["t"]) else parts[-1]


def suite_of(place: str, text: str) -> str | None:
    """The folder of the suite whose includes a test finds by ``include/…``: its own, else that of
    the clusters or the replication that it sources.
    """
    if place.startswith("suite/"):
        return place.rpartition("/")[0].removesuffix("/t")
    names = sourced(text)
    if any(name.startswith("include/galera") for name in names):
        return "suite/galera"
    if any(_REPLICATES.match(name) for name in names):
        return "suite/rpl"
    return None


def result_paths(path: str) -> list[str]:
    """Where the result of a test may be: beside it, or in the folder ``r`` beside its own."""
    folder, slash, name = path.rpartition("/")
    result = f"{name.removesuffix('.test')}.result"
    found = [f"{folder}{slash}{result}"]
    above, between, last = folder.rpartition("/")
    if last == "t":
        found.append(f"{above}{between}r/{result}")
    return found


def image_for(family: str, version: str, series: Sequence[str]) -> str:
    """The image with mysqltest for a server: ``mariadb-test@10.11``.

    ``series``: those of the image. Where the server's own is missing, the next newer one, else the
    newest.
    """
    own = _numbers(version)[:2]
    ordered = sorted(series, key=_numbers)
    newer = [each for each in ordered if _numbers(each) >= own]
    return f"{IMAGES[family]}@{(newer or ordered[-1:])[0]}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:3])


def set_up(family: str, topology: str | None, addresses: Sequence[str]) -> list[str]:
    """Statements that give a server what the test driver gives it: root without a password for the
    containers beside servers, the schema ``test``, and ``mtr.add_suppression``.

    They are in no binary log and in no cluster's stream: each server gets them for itself.
    """
    accounts = []
    for address in addresses:
        accounts.append(f"CREATE USER IF NOT EXISTS root@'{address}' IDENTIFIED BY ''")
        accounts.append(f"GRANT ALL ON *.* TO root@'{address}' WITH GRANT OPTION")
    schemas = [
        "CREATE DATABASE IF NOT EXISTS test",
        "CREATE DATABASE IF NOT EXISTS mtr",
        "DROP PROCEDURE IF EXISTS mtr.add_suppression",
        "CREATE PROCEDURE mtr.add_suppression(pattern VARCHAR(255)) BEGIN END",
    ]
    return _for_itself(family, topology, [*schemas, *accounts])


def take_back(family: str, topology: str | None, addresses: Sequence[str]) -> list[str]:
    """Statements that remove the accounts.

    The schema mtr stays: it marks a stack whose replication, variables or accounts a test may have
    changed, so that the next repeat gets a stack that is restored (`repro.reset`).
    """
    dropped = [f"DROP USER IF EXISTS root@'{address}'" for address in addresses]
    return _for_itself(family, topology, dropped)


def _for_itself(family: str, topology: str | None, statements: Sequence[str]) -> list[str]:
    alone = ["SET SESSION sql_log_bin = 0"]
    if topology == "galera":
        alone.append("SET SESSION wsrep_on = OFF")
    if family == "mariadb":
        return [*alone, *statements]
    # Root cannot write to a replica or a secondary of MySQL that is super_read_only.
    writable = ["SET @was = @@GLOBAL.super_read_only", "SET GLOBAL super_read_only = OFF"]
    return [*alone, *writable, *statements, "SET GLOBAL super_read_only = @was"]


@dataclass(frozen=True, slots=True)
class MysqltestOutcome:
    """What a test came to. ``error`` None: it passed."""

    error: str | None = None
    error_code: int | None = None
    """The server's, of the statement that failed; 0: something else failed."""
    skipped: str | None = None
    """Why the test says that it cannot run here."""


def outcome_of(code: int, lines: Sequence[str]) -> MysqltestOutcome:
    """The outcome by the exit code of mysqltest and its output."""
    if code == 0:
        return MysqltestOutcome()
    if code == SKIPPED:
        return MysqltestOutcome(skipped=_reason(lines))
    failed = [number for number, line in enumerate(lines) if _FAILED.search(line)]
    if failed:
        return _failed_line(lines, failed[-1])
    if any(sign in line for line in lines for sign in _MISMATCH):
        first = next(_differences(lines), "the files differ")
        return MysqltestOutcome(f"the result differs: {first}", 0)
    last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
    return MysqltestOutcome(f"exit code {code}: {last}", 0)


def _failed_line(lines: Sequence[str], number: int) -> MysqltestOutcome:
    """The outcome of a test that ended at a line of its own, which the output names."""
    found = _FAILED.search(lines[number])
    assert found  # noqa: S101  (it was looked for)
    where = f"line {found['line']}"
    files = [each["file"] for line in lines if (each := _INCLUDED.search(line))]
    if files:
        where = f"{files[-1]}, {where}"
    # MySQL's has the server's answer in the line after it.
    said = [found["what"]]
    said += [line for line in lines[number + 1 : number + 2] if line.startswith("ERROR ")]
    text = " ".join(said)
    codes = (each.search(text) for each in _CODES)
    code = next((int(each[1]) for each in codes if each), 0)
    return MysqltestOutcome(f"{where}: {text}", code)


def _differences(lines: Sequence[str]) -> Iterator[str]:
    """Lines of a unified diff that are not of its head."""
    for line in lines:
        if line[:1] in ("-", "+") and line[:3] not in ("---", "+++"):
            yield line


def _reason(lines: Sequence[str]) -> str:
    for line in reversed(lines):
        found = _SKIP.match(line.strip())
        if found:
            return found["why"]
    return "it gives no reason"

"""Percona Toolkit beside the client node: the real pt-upgrade over a log, on disposable servers."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.stack.client_python import end_stream
from sandbox.stack.protocol import RunningStack, StackNode
from sandbox.upgrade.pt_upgrade import message

IMAGE = "toolkit"
"""Key in images/catalog.yaml."""
_WEIGHT = 1.0
_NOT_PRINTED = "Error reporting query class"
_NUMBER = re.compile(r"/\*(\d+)\*/ ")
_DIFFERENCES = 4
"""Its exit code where it found some."""
_END_S = 10.0
_MOST_EXAMPLES = 10_000
"""It prints a class of queries when it has so many differences of it, and all others at its end: if
it dies while it prints (an error text with a percent sign is a format for it), the rest is run
before.
"""
_ERRORS = "== what it printed on standard error"
_ENDED = "== ended with "
_SCRIPT = f"""\
umask 077
cd "$(mktemp -d)" || exit 70
exec 3<&0
head -c "$1" <&3 | base64 -d >account.cnf
head -c "$2" <&3 | base64 -d >replay.log
perl -X "$(command -v pt-upgrade)" --no-version-check --no-read-only --type slowlog \\
  --charset utf8 --database "$3" \\
  --max-examples {_MOST_EXAMPLES} --max-class-size {_MOST_EXAMPLES} \\
  "h=$4,P=$5,F=$PWD/account.cnf" "h=$6,P=$7,F=$PWD/account.cnf" replay.log 2>errors 3<&- &
tool=$!
(cat <&3; kill "$tool") >/dev/null 2>&1 &
wait "$tool"
code=$?
echo "{_ERRORS}"
cat errors
echo "{_ENDED}$code"
"""
"""It ends with its input, so that nothing is left of a check that was killed. All statements are
run, writes too: the servers are made for this and removed afterwards.

Perl's warnings are off: pt-upgrade takes each for an error, and loses what it prints. ``utf8`` is
for Perl, which otherwise decodes the rows of one server and not of another, and dies
where it prints them; the session's character set is utf8mb4, by the log's first statement.
"""


@dataclass(frozen=True, slots=True)
class ToolkitRun:
    """What pt-upgrade printed. ``code`` None: it did not get to its end."""

    report: str
    errors: str
    code: int | None

    @property
    def troubles(self) -> list[str]:
        """Why there is no whole report: its own errors, and a code besides 4, for differences."""
        lines = self.errors.splitlines()
        errors = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
        found = [f"pt-upgrade: {message(each)}" for each in errors]
        if not found and (self.code is None or self.code & ~_DIFFERENCES):
            last = message(lines[-1]) if lines else "it printed no reason"
            found.append(f"pt-upgrade ended with {self.code}: {last}")
        return found

    @property
    def lost(self) -> frozenset[int]:
        """Numbers of statements of classes that it could not print, which it dumps as an error."""
        if _NOT_PRINTED not in self.errors:
            return frozenset()
        return frozenset(int(number) for number in _NUMBER.findall(self.errors))


def run_pt_upgrade(
    stack: RunningStack,
    client: str,
    servers: tuple[StackNode, StackNode],
    slow_log: str,
    schema: str,
    on_line: Callable[[str], None],
) -> ToolkitRun:
    """Runs pt-upgrade over a slow log on two servers, as root; its image is here.

    ``schema``: where the log says none. ``on_line`` gets each line of its report.
    """
    account = _encoded(stack.run(client, ["cat", "/sandbox/root.cnf"]).stdout)
    log = _encoded(slow_log)
    lengths = [str(len(each) + 1) for each in (account, log)]
    places = [word for node in servers for word in (node.host, str(node.port))]
    argv = ["sh", "-c", _SCRIPT, "sh", *lengths, schema, *places]
    stream = stack.stream_beside(client, IMAGE, argv, _WEIGHT)
    try:
        stream.send(account)
        stream.send(log)
        lines = []
        for line in stream.lines():
            lines.append(line)
            on_line(line)
    finally:
        end_stream(stream, _END_S)
    return taken_apart(lines)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()


def taken_apart(lines: list[str]) -> ToolkitRun:
    """The report and the errors of what the script printed."""
    report: list[str] = []
    errors: list[str] = []
    code: int | None = None
    current = report
    for line in lines:
        if line == _ERRORS:
            current = errors
        elif line.startswith(_ENDED):
            code = int(line.removeprefix(_ENDED))
        else:
            current.append(line)
    return ToolkitRun("\n".join(report), "\n".join(errors), code)

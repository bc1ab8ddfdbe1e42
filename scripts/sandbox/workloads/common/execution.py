"""Runs a load in the client node; it ends when it is done, when its time is over, or when this process dies."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox.stack.protocol import RunningStack, Stream

OVERTIME_S = 30
"""How long a load may overrun before it is terminated: a hanging server must not hang the run."""

TIMED_OUT = 124
"""Exit code of `timeout` for a command that it ended."""

# We hold the load's input open: when this process dies, however it dies, the input ends and so does the load.
# `timeout` leads a process group. The whole group gets the signal, since a `timeout` that has only just forked does not
# pass it on, and the load is over when the group is empty.
_SUPERVISOR = """
limit=$1
shift
exec 3<&0
timeout --kill-after=5 "$limit" "$@" 3<&- </dev/null &
load=$!
(read -r _ <&3; kill -TERM -"$load" || kill -TERM "$load") 2>/dev/null &
watcher=$!
wait "$load"
code=$?
kill "$watcher" 2>/dev/null
left=50
while [ "$left" -gt 0 ] && kill -0 -"$load" 2>/dev/null; do left=$((left - 1)); sleep 0.1; done
kill -KILL -"$load" 2>/dev/null
exit "$code"
"""


def run_load(
    stack: RunningStack,
    client: str,
    argv: Sequence[str],
    seconds: int,
    log: Path,
    on_line: Callable[[str], None],
) -> int:
    """Runs ``argv`` in the client node; each line goes to ``log`` and ``on_line``. Returns its exit code.

    124 when it did not end within ``seconds`` + OVERTIME_S. An exception, Ctrl-C included, ends the load first.
    """
    command = ["sh", "-c", _SUPERVISOR, "load", str(seconds + OVERTIME_S), *argv]
    stream = stack.stream(client, command)
    try:
        with log.open("a", encoding="utf-8") as file:
            for line in stream.lines():
                file.write(line + "\n")
                on_line(line)
        return stream.wait(OVERTIME_S)
    finally:
        _end(stream)


def _end(stream: Stream) -> None:
    """Ends the load, if it is still running, by closing its input; then our side."""
    stream.close_stdin()
    try:
        stream.wait(10)
    except TimeoutError:
        stream.kill()

"""Runs in the container of a driver, in the network of the client node: the prober's slots, carried
out by programs that use the driver.

The request is a line of the input, then ``begin NS`` with the prober's time 0; after that the
commands of prober.py. It prints ``ready`` with the driver's version, or ``failed`` and why; then a
log as prober.py writes it (docs/drivers.md).
"""

import itertools
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sandbox.measure.trial.in_client import driver_program as programs
    from sandbox.measure.trial.in_client import prober
    from sandbox.measure.trial.in_client import prober_links as links
    from sandbox.measure.trial.in_client import prober_streams as streams
else:
    import driver_program as programs  # shipped into the same folder
    import prober
    import prober_links as links
    import prober_streams as streams

TABLE = "ledger_of_driver"
INSERT = streams.INSERT.replace("INTO ledger", f"INTO {TABLE}")
VERBS = {"pooled": "write", "fresh": "fresh", "writer": "read"}
"""By stream, how its statements are asked for."""
FINISH_S = 10.0
"""For the statements under way at the end; what is still out then has no outcome."""
HOSTS = Path("/etc/hosts")
ACCOUNT = Path("/run/driver.cnf")


class HostsFile(dict[str, str]):
    """Node → its address, by which names of the driver's own are resolved: a host that is down has
    a name all the same, and one that moves keeps it.
    """

    def __init__(self, known: dict[str, str], path: Path = HOSTS) -> None:
        super().__init__(known)
        self._path = path
        self._write()

    def __setitem__(self, node: str, address: str) -> None:
        super().__setitem__(node, address)
        self._write()

    def _write(self) -> None:
        """In place: the file is mounted, and the client node has the same one."""
        own = [f"{address} {name_of(node)}" for node, address in self.items()]
        names = {name_of(node) for node in self}
        lines = self._path.read_text(encoding="utf-8").splitlines()
        others = [line for line in lines if not names & {*line.split()[1:]}]
        self._path.write_text("\n".join([*others, *own]) + "\n", encoding="utf-8")


def name_of(node: str) -> str:
    """The name by which a driver knows a node."""
    return f"{node}.driver"


class ErrorTexts:
    """The text of each error code, logged when it comes for the first time."""

    def __init__(self, log: Callable[..., None]) -> None:
        self._log = log
        self._codes: set[links.Code] = set()

    def note(self, answer: programs.Answer) -> None:
        """The first text of a code; harmless for an answer without an error."""
        if answer.code not in self._codes and answer.code != links.NONE:
            self._codes.add(answer.code)
            self._log("x", answer.code, " ".join(answer.text.split()))


class Ask(NamedTuple):
    """The way to a driver's programs: asks, and notes errors."""

    every: programs.Programs
    texts: ErrorTexts

    def __call__(self, verb: str, sql: str) -> programs.Answer:
        answer = self.every.ask(verb, sql)
        self.texts.note(answer)
        return answer


class DriverWrites(NamedTuple):
    """A stream of writes, one row of the driver's ledger each."""

    name: str
    ask: Ask
    shared: streams.Shared
    ops: "itertools.count[int]"

    def slot(self, due_us: int) -> streams.Task:
        """Writes the intent down; what it returns asks the driver for the write."""
        op = next(self.ops)
        self.shared.log("i", op, self.name, due_us)
        return partial(self._send, op)

    def _send(self, op: int) -> None:
        sent_us = self.shared.clock()
        answer = self.ask(VERBS[self.name], INSERT % (op, 1))
        done_us = self.shared.clock()
        outcome = links.ACKED
        if answer.code != links.NONE:
            decisive = answer.phase == programs.SENT
            outcome = links.outcome_of(answer.code, decisive, self.shared.transaction)
        self.shared.log("o", op, sent_us, done_us, outcome, answer.code, 1)
        if outcome == links.ACKED:
            self.shared.memory.acknowledged(op, done_us)


class UnansweredError(Exception):
    """A read that the driver did not get."""


class Reader:
    """Stands for the connections of the prober's reads: a read goes to the driver."""

    def __init__(self, ask: Ask, clock: streams.Clock) -> None:
        self._ask = ask
        self._clock = clock

    def run(
        self, _attempt: streams.Attempt, work: Callable[["Reader"], Any]
    ) -> tuple[Any, links.Code, int]:
        """The answer of ``work``, or None with the error's code; and when that was, µs."""
        try:
            return work(self), links.NONE, self._clock()
        except UnansweredError as error:
            return None, error.args[0], self._clock()

    def execute(
        self, _deadline_s: float, statement: str, values: Sequence[Sequence[int | None]]
    ) -> list[tuple[str, int, str]]:
        """The one row of the prober's read."""
        asked = ", ".join("NULL" if op is None else str(op) for op in values[0])
        of_driver = statement.replace("FROM ledger", f"FROM {TABLE}")
        answer = self._ask("read", of_driver % f"({asked})")
        if answer.code != links.NONE:
            raise UnansweredError(answer.code)
        node, count, ops = answer.fields
        return [(node, int(count), ops if ops[:1].isdecimal() else "")]


def opening_of(request: dict[str, Any], who: links.Account) -> str:
    """The first line that a program gets."""
    hosts = ",".join(f"{name_of(each['node'])}:{each['port']}" for each in request["write"])
    fields = (
        "open",
        who["user"],
        who["password"],
        request["schema"],
        round(1000 * request["timeout_s"]),
        request["connections"],
        int(request["transaction"]),
        request["mode"],
        hosts,
    )
    return "\t".join(map(str, fields))


def programs_of(request: dict[str, Any], account: Path = ACCOUNT) -> programs.Programs:
    """The driver's programs, ready. Raises ProgramError where one does not start.

    ``account``: where the option file of the request is kept.
    """
    account.touch(mode=0o600)
    account.write_text(request.pop("account"), encoding="utf-8")
    opening = opening_of(request, links.account(str(account), request["schema"]))
    begin = partial(programs.Program, request["run"], request["folder"], opening)
    return programs.Programs(
        begin, request["connections"], request["concurrent"], request["timeout_s"]
    )


def slots_of(
    request: dict[str, Any], shared: streams.Shared, ask: Ask, ending: prober.Ending
) -> list[prober.Slots]:
    """The streams that have a rate. Their slots are spread, so that none is due when another one's
    is.
    """
    ops = itertools.count(request["first_op"])
    start_us = shared.clock() + prober.FIRST_SLOT_US
    end_us = start_us + round(request["seconds_limit"] * 1e6)
    rates = {name: request["rates"].get(name, 0) for name in VERBS}
    made = []
    for place, name in enumerate(name for name in VERBS if rates[name]):
        source: prober.Source = DriverWrites(name, ask, shared, ops)
        if name == "writer":
            draw = random.Random(f"{request['seed']} {name}")  # noqa: S311  (a sample, no secret)
            connections: Any = Reader(ask, shared.clock)
            source = streams.Reads(name, connections, shared, draw)
        first_us = start_us + round(place * 1e6 / rates[name] / len(VERBS))
        made.append(prober.Slots(source, rates[name], (first_us, end_us), shared, ending))
    return made


def wait_for_begin(commands: Iterable[str]) -> int | None:
    """The prober's time 0 on the machine's monotonic clock; None at the end of the input."""
    for command in commands:
        match command.split():
            case ["begin", began_ns]:
                return int(began_ns)
            case ["stop"]:
                return None
    return None


def run(
    request: dict[str, Any],
    commands: Iterable[str],
    write: Callable[[bytes], None],
    ending: prober.Ending,
    places: tuple[Path, Path] = (HOSTS, ACCOUNT),
) -> None:
    """One driver, from its programs' start to the last line of its log."""
    hosts, account = places
    known = {each["node"]: each["address"] for each in request["write"]}
    addresses = HostsFile(known, hosts)
    try:
        every = programs_of(request, account)
    except (programs.ProgramError, OSError) as error:
        write(f"failed\t{' '.join(str(error).split())}\n".encode())
        return
    write(f"ready\t{every.version}\n".encode())
    began_ns = wait_for_begin(commands)
    if began_ns is None:
        return
    clock = prober.Clock(began_ns)
    lines = prober.LineWriter(write, ending.end_now)
    lines.line(prober.header(clock, {**request, "version": every.version}))
    bounds = request["timeout_s"], request["transaction"], 0.0
    shared = streams.Shared(lines.line, clock, streams.Memory(), *bounds)
    prober.begin(prober.obey, commands, addresses, lines, clock, ending)
    slots = slots_of(request, shared, Ask(every, ErrorTexts(lines.line)), ending)
    for each in slots:
        each.begin()
    ending.stopped.wait(request["seconds_limit"])
    prober.finish(slots, FINISH_S, lines, clock, ending)


def main() -> None:
    """The request as JSON is the next line of the input."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.stack_size(prober.STACK_BYTES)
    ending = prober.Ending()
    prober.begin(prober.end_on_term, ending)
    run(json.loads(sys.stdin.readline()), sys.stdin, prober.write_out, ending)
    sys.stdout.flush()
    os._exit(0)  # the programs end with it: they have no other reason to stay

"""A load on every member of a cluster: which of them left meanwhile, and the word to its threads that it is back."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sandbox.errors import SandboxError
from sandbox.results.record import Absence
from sandbox.workloads.common.model import MemberChange, Session

RETURNS = "/tmp/sandbox-members"  # noqa: S108  (in a container of one purpose)
"""Folder in the client node: a file for each member that came back, with how often it did (members.lua)."""
LOOK_S = 1.0
_LOST = re.compile(r"member (\S+) lost at ([0-9.]+) s: (.+)$")
_BACK = re.compile(r"member (\S+) back at ([0-9.]+) s$")


class Members:
    """Reads what the load says of its members; looks whether one that is away takes writes again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._away: dict[str, Absence] = {}
        self._ended: list[Absence] = []
        self._returns: dict[str, int] = {}
        self._over = threading.Event()
        self._looking: threading.Thread | None = None

    @property
    def absences(self) -> tuple[Absence, ...]:
        """By the time at which they began; one that is away still has no end."""
        return tuple(sorted([*self._ended, *self._away.values()], key=lambda each: each.from_s))

    def feed(self, line: str) -> None:
        """A line of the load; each thread of a member says that it has lost it, the first one counts."""
        if lost := _LOST.match(line):
            self._lose(lost[1], float(lost[2]), lost[3])
        elif back := _BACK.match(line):
            self._regain(back[1], float(back[2]))

    def close(self) -> None:
        """Looks no more. Harmless when repeated."""
        self._over.set()
        if self._looking is not None:
            self._looking.join()

    def _lose(self, member: str, at_s: float, error: str) -> None:
        if member in self._away:
            return
        self._away[member] = Absence(member=member, from_s=at_s, until_s=None, error=error)
        text = f"{member} is gone since {at_s:.1f} s: {error}; the load goes on at the others"
        self._session.on_event(MemberChange("members", text, member, is_lost=True))
        if self._looking is None:
            self._looking = threading.Thread(target=self._look, name="members", daemon=True)
            self._looking.start()

    def _regain(self, member: str, at_s: float) -> None:
        absence = self._away.pop(member, None)
        if absence is None:
            return
        self._ended.append(absence.model_copy(update={"until_s": at_s}))
        text = f"{member} takes its share again since {at_s:.1f} s"
        self._session.on_event(MemberChange("members", text, member, is_lost=False))

    def _look(self) -> None:
        """Lets the threads of a member know that it is back, once for each time that it was away."""
        announced: dict[str, Absence] = {}
        while not self._over.wait(LOOK_S):
            waiting = {name: each for name, each in self._away.items() if announced.get(name) is not each}
            with suppress(SandboxError, TimeoutError):  # an engine that does not answer is asked again
                roles = self._session.stack.roles() if waiting else {}
                for name, absence in waiting.items():
                    if roles.get(name) == "writer":
                        self._announce(name)
                        announced[name] = absence

    def _announce(self, member: str) -> None:
        count = self._returns.get(member, 0) + 1
        script = 'mkdir -p "$0" && echo "$2" > "$0/$1.new" && mv "$0/$1.new" "$0/$1"'
        argv = ["sh", "-c", script, RETURNS, member, str(count)]
        self._session.stack.run(self._session.client, argv)
        self._returns[member] = count


@contextmanager
def watched_members(session: Session) -> Iterator[Members | None]:
    """Watches the members while a load on all of them runs; None where the load has one entry point."""
    if not session.entry.others:
        yield None
        return
    session.stack.run(session.client, ["rm", "-rf", RETURNS])
    members = Members(session)
    try:
        yield members
    finally:
        members.close()

"""Who may be written to and who is there to be read: what a server says of itself, judged. Asks nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_DETACHED = "read-only, and replicates from nobody"
_STALE = "stale"
_THREADS = ("_IO_Running", "_SQL_Running")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a server is no writer, and why it is no reader; an empty text where it is one.

    ``heard``: whether it has said something fit to go by. ``follows``: the servers that it replicates from, None where
    it is a member of a cluster. ``promoted``: when it began to take writes, on a scale that all servers of its group
    share; 0 where it cannot tell, or has done so from its first start on. ``aside``: it is neither, and will not
    become either by itself.
    """

    not_writer: str
    not_reader: str
    heard: bool = True
    follows: frozenset[str] | None = None
    promoted: int = 0
    aside: bool = False


def unknown(reason: str) -> Verdict:
    """A server that said nothing fit to go by."""
    return Verdict(reason, reason, heard=False)


def judge_galera(status: Mapping[str, str]) -> Verdict:
    """A node of a Galera cluster, from its ``wsrep_…`` status and ``read_only``: every synced node may be read."""
    component = status.get("wsrep_cluster_status", "no provider")
    if component != "Primary":
        return unknown(f"not in the primary component: {component}")
    if status.get("wsrep_local_state") != "4":
        return unknown(f"not synced: {status.get('wsrep_local_state_comment', 'state unknown')}")
    if status.get("wsrep_ready") != "ON":
        return unknown("wsrep_ready is not ON")
    return Verdict("read_only" if _is_on(status["read_only"]) else "", "")


def judge_member(member: Mapping[str, object]) -> Verdict:
    """A member of a replication group, from its own row and counts of the group.

    With one primary the others are the readers; with several primaries every member is.
    """
    if member["state"] != "ONLINE":
        return unknown(f"member is {member['state'] or 'OFFLINE'}")
    if 2 * int(str(member["reachable"])) <= int(str(member["members"])):
        return unknown(f"reaches {member['reachable']} of {member['members']} members")
    if member["role"] != "PRIMARY":
        return Verdict(f"member is {member['role']}", "")
    only_primary = int(str(member["primaries"])) == 1
    read_only = _is_on(str(member["super_read_only"]))
    return Verdict("primary, still read-only" if read_only else "", "the only primary" if only_primary else "")


def judge_single(read_only: str, channels: Sequence[Mapping[str, object]], promoted: int = 0) -> Verdict:
    """A server of asynchronous replication: the writer is not read-only; readers are, and both threads run.

    Which of several that take writes is the writer only all of them can say: `elected`.
    """
    if not _is_on(read_only):
        return Verdict("", "takes writes", follows=_sources(channels, writable=True), promoted=promoted)
    follows = _sources(channels, writable=False)
    if not channels:
        return Verdict(_DETACHED, _DETACHED, follows=follows)
    for channel in channels:
        threads = {name: value for name, value in channel.items() if name.endswith(_THREADS)}
        stopped = [f"{name}={value}" for name, value in threads.items() if value != "Yes"]
        if stopped or not threads:
            reason = f"does not replicate: {', '.join(stopped) or 'no threads'}"
            return Verdict(reason, reason, follows=follows)
    return Verdict("read-only", "", follows=follows)


def _sources(channels: Sequence[Mapping[str, object]], writable: bool) -> frozenset[str]:
    """Whom a server follows; one that was made writable with its receiver stopped has left its source."""
    return frozenset(
        str(value)
        for channel in channels
        for name, value in channel.items()
        if name in ("Source_Host", "Master_Host")
        and not (writable and "No" in (channel.get("Replica_IO_Running"), channel.get("Slave_IO_Running")))
    )


class Election:
    """Which server of asynchronous replication is the writer, time after time.

    A server that takes writes beside the writer is stale; so is a writer that fell silent and was replaced, once it is
    back. When the writer falls silent, a stale server does not become it, nor does it because of the replicas that
    nobody has pointed to the writer yet: only once others follow it, or it was read-only in between.
    ``first``: the source at first start.
    """

    def __init__(self, first: str) -> None:
        self._first = first
        self._writer: str | None = None
        self._stale: dict[str, frozenset[str]] | None = None
        """Of each stale server the followers that it has had since it became so."""

    def judge(self, verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
        """The verdicts with one writer among them, or with none."""
        stale = _left_for_a_silent(verdicts, self._first) if self._stale is None else self._stale
        judged = elected(verdicts, self._first, stale, self._writer)
        writer = next((name for name, each in judged.items() if not each.not_writer), None)
        replaced = self._writer if writer and self._writer != writer else None
        self._writer = writer or self._writer
        followers = _followers(verdicts)
        self._stale = {
            name: stale.get(name, followers[name]) & followers[name]
            for name, each in judged.items()
            if _is_stale(each, name in stale or name == replaced)
        }
        return judged


def _left_for_a_silent(verdicts: Mapping[str, Verdict], first: str) -> dict[str, frozenset[str]]:
    """The first source, where others follow another one that says nothing now: that one may have been promoted."""
    sources = {source for each in verdicts.values() for source in each.follows or ()} - {first}
    silent = {name for name, each in verdicts.items() if not each.heard}
    return {first: frozenset()} if sources & silent else {}


def _is_stale(verdict: Verdict, was_stale: bool) -> bool:
    return was_stale if not verdict.heard else verdict.not_writer.startswith(_STALE)


def _followers(verdicts: Mapping[str, Verdict]) -> dict[str, frozenset[str]]:
    """Of every server those that replicate from it."""
    return {
        name: frozenset(other for other, each in verdicts.items() if name in (each.follows or ())) for name in verdicts
    }


def elected(
    verdicts: Mapping[str, Verdict],
    first: str,
    stale: Mapping[str, frozenset[str]] | None = None,
    before: str | None = None,
) -> dict[str, Verdict]:
    """The verdicts on servers of asynchronous replication with one writer among them: the one that most others follow.

    Of those that as many follow it is one that has left its source, then the one that was promoted last, then the
    writer ``before``, then a replica rather than ``first``, the source at first start. The same rule as in role.sh.j2
    of a replica, which remembers nothing. ``stale``: who is the writer only if others than these follow it.
    """
    apart = stale or {}
    followers = {name: len(each - apart.get(name, frozenset())) for name, each in _followers(verdicts).items()}

    def rank(name: str) -> tuple[int, bool, int, bool, bool]:
        verdict = verdicts[name]
        return followers[name], not verdict.follows, verdict.promoted, name == before, name != first

    writable = (name for name, each in verdicts.items() if not each.not_writer)
    writer = max((name for name in writable if name not in apart or followers[name]), key=rank, default=None)
    return {name: each if name == writer else _beside(each, writer) for name, each in verdicts.items()}


def _beside(verdict: Verdict, writer: str | None) -> Verdict:
    """The verdict on a server that is not the writer."""
    if not verdict.heard:
        return verdict
    if not verdict.not_writer:
        reason = f"{_STALE}: takes writes, but {f'{writer} is the writer' if writer else 'the writer does not answer'}"
        return replace(verdict, not_writer=reason, not_reader=reason, aside=True)
    return replace(verdict, aside=writer is not None and verdict.not_reader == _DETACHED)


def _is_on(value: str) -> bool:
    return value not in ("OFF", "0")

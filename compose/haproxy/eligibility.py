"""Who may be written to and who is there to be read: what a server says of itself, judged. Asks nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_THREADS = ("_IO_Running", "_SQL_Running")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a server is no writer, and why it is no reader; an empty text where it is one."""

    not_writer: str
    not_reader: str


def unknown(reason: str) -> Verdict:
    """A server that said nothing fit to go by."""
    return Verdict(reason, reason)


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


def judge_single(read_only: str, channels: Sequence[Mapping[str, object]]) -> Verdict:
    """A server of asynchronous replication: the writer is not read-only; readers are, and both threads run."""
    if not _is_on(read_only):
        return Verdict("", "takes writes")
    if not channels:
        return unknown("read-only, and replicates from nobody")
    for channel in channels:
        threads = {name: value for name, value in channel.items() if name.endswith(_THREADS)}
        stopped = [f"{name}={value}" for name, value in threads.items() if value != "Yes"]
        if stopped or not threads:
            return unknown(f"does not replicate: {', '.join(stopped) or 'no threads'}")
    return Verdict("read-only", "")


def _is_on(value: str) -> bool:
    return value not in ("OFF", "0")

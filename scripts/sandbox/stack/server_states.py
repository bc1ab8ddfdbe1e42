"""The state of a database server in the words of its field, from what it and its peers say. Asks
nobody.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sandbox.stack.server_status import (
    Repair,
    Row,
    ServerFacts,
    ServerStatus,
    channel_of,
    field_of,
    reason_in,
)

NO_ERROR = ("", "0")
_BROKEN_RECEIVER = {"1236", "13114", "1593"}
"""A receiver that ends with these does not try again: the source has purged what it needs, or both
have one ID.

Sources: MySQL's manual, "Server Error Message Reference": ER_MASTER_FATAL_ERROR_READING_BINLOG,
ER_SERVER_SOURCE_FATAL_ERROR_READING_BINLOG, ER_SLAVE_FATAL_ERROR.
"""
_OBJECT_ERRORS = {1007, 1008, 1049, 1050, 1051, 1054, 1060, 1061, 1091, 1146, 1304, 1305}
_ROW_ERRORS = {1032, 1062}
_ACCOUNT_ERRORS = {1396, 1410}
_CONSTRAINT_ERRORS = {1451, 1452, 3819, 4025}
_DATA_DIFFERS = _OBJECT_ERRORS | _ROW_ERRORS | _ACCOUNT_ERRORS | _CONSTRAINT_ERRORS
"""Errors of an applier whose server holds other data than the source: the same transaction fails
each time.

Sources: MySQL's manual, "Server Error Message Reference"; MariaDB's, "MariaDB Error Code
Reference".
"""


def differs(code: str) -> bool:
    """Whether an applier's error says that the server holds other data than its source."""
    return code.isdigit() and int(code) in _DATA_DIFFERS


def replicating(facts: ServerFacts) -> ServerStatus:
    """A server of asynchronous replication: what its role says first, then the worst of its
    channels.
    """
    word, _, text = facts.role.partition(": ")
    if word in ("stale", "detached"):
        return ServerStatus(word, text, (), "rejoin")
    if facts.role.startswith("writer") and all(_leaves_source(row) for row in facts.channels):
        return ServerStatus("running")
    if not facts.channels:
        if facts.role and not facts.role.startswith(("writer", "reader")):
            return ServerStatus("detached", facts.role, (), "wait")
        return ServerStatus("running")
    return max((_channel(row) for row in facts.channels), key=_severity)


def _severity(state: ServerStatus) -> int:
    order: Sequence[Repair] = ("", "wait", "restart", "rejoin", "rebuild")
    return 2 * order.index(state.repair) + (not state.is_well)


def _leaves_source(row: Row) -> bool:
    """Whether a writer's channel is one that a promotion has stopped."""
    return field_of(row, "IO_Running") == "No"


def _channel(row: Row) -> ServerStatus:
    source = field_of(row, "Host")
    view = (source,) if source else ()
    if field_of(row, "SQL_Running") == "No":
        code = row.get("Worker_Errno") or row.get("Last_SQL_Errno", "0")
        message = row.get("Worker_Error") or row.get("Last_SQL_Error", "")
        if code in NO_ERROR:
            text = "its applier was stopped, without an error"
            return ServerStatus("stopped", text, view, "rejoin")
        repair: Repair = "rebuild" if differs(code) else "rejoin"
        return ServerStatus("stopped", f"applier, error {code}: {message}", view, repair)
    receiver = field_of(row, "IO_Running")
    code = row.get("Last_IO_Errno", "0")
    message = row.get("Last_IO_Error", "")
    if receiver == "No":
        if code in NO_ERROR:
            text = "its receiver was stopped, without an error"
            return ServerStatus("stopped", text, view, "rejoin")
        repair = "rebuild" if code in _BROKEN_RECEIVER else "rejoin"
        return ServerStatus("stopped", f"receiver, error {code}: {message}", view, repair)
    if receiver != "Yes":
        failed = ""
        if code not in NO_ERROR:
            # MariaDB says before it what it tries, and how often.
            failed = f", error {code}: {message.rpartition('message: ')[2]}"
        return ServerStatus("connecting", f"to {source}{failed}", view, "wait")
    return _lag(row, source, view)


def _lag(row: Row, source: str, view: tuple[str, ...]) -> ServerStatus:
    behind = field_of(row, "Seconds_Behind_Source") or row.get("Seconds_Behind_Master", "0")
    delay = row.get("SQL_Delay", "0")
    if delay not in NO_ERROR:
        return ServerStatus("delayed", f"by {delay} s, {behind} s behind {source}", view)
    if behind.isdigit() and int(behind) > 0:
        return ServerStatus("lagging", f"{behind} s behind {source}", view)
    return ServerStatus("replicating", f"from {source}", view)


def _link(row: Row) -> str:
    """How replication from another group stands."""
    state = _channel(row)
    name = channel_of(row)
    through = f" (channel {name})" if name else ""
    source = f"from {field_of(row, 'Host')}{through}"
    if state.word == "replicating":
        return f"replicates {source}"
    if state.word in ("delayed", "lagging"):
        return f"replicates {source}, {state.word} {state.reason.rpartition(' behind ')[0]} behind"
    return f"does not replicate {source}: {state.text}"


def _links(facts: ServerFacts) -> tuple[str, ...]:
    """Each link that runs on a server, by channel: a server lists them in any order. In a cluster
    one member runs it, the others none.
    """
    rows = [row for row in facts.channels if channel_of(row) in facts.links]
    rows.sort(key=channel_of)
    if facts.topology != "single":
        rows = [row for row in rows if not _is_idle(row)]
    return tuple(_link(row) for row in rows)


def _is_idle(row: Row) -> bool:
    threads = {field_of(row, "IO_Running"), field_of(row, "SQL_Running")}
    return threads == {"No"} and row.get("Last_SQL_Errno", "0") in NO_ERROR


def server_states(
    facts: Mapping[str, ServerFacts], at_once: bool = True
) -> dict[str, ServerStatus]:
    """Node → its state, for the servers of one group.

    ``at_once``: all were asked at the same time; else views that differ may be no more than the one
    before and the one after a change.
    """
    links = {node: _links(each) for node, each in facts.items()}
    facts = {node: _of_own_group(each) for node, each in facts.items()}
    alone = {node: state_of(each) for node, each in facts.items()}
    found = dict(alone)
    for node, each in facts.items():
        if each.topology == "galera":
            found[node] = _with_joiners(node, alone)
        if each.topology == "gr" and len(facts) == each.members:
            found[node] = _with_forming(alone[node], facts, alone)
        if at_once and each.topology in ("galera", "gr"):
            found[node] = _with_split(node, found[node], alone)
    return {node: replace(state, links=links[node]) for node, state in found.items()}


def _of_own_group(facts: ServerFacts) -> ServerFacts:
    """The facts without replication from other groups."""
    own = [row for row in facts.channels if channel_of(row) not in facts.links]
    return replace(facts, channels=own)


def _with_forming(
    own: ServerStatus, facts: Mapping[str, ServerFacts], alone: Mapping[str, ServerStatus]
) -> ServerStatus:
    """A member in no group waits where there is none to join: its forming script starts it once all
    members answer.
    """
    if own.repair != "restart" or not all(
        _is_in_no_group(facts[node], alone[node]) for node in facts
    ):
        return own
    reason = own.reason if own.word == "expelled" else "the group has not formed yet"
    return replace(own, reason=reason, repair="wait")


def _is_in_no_group(facts: ServerFacts, state: ServerStatus) -> bool:
    """Whether a member is in no group, or its server is still starting."""
    is_starting = facts.status is None and facts.error.startswith("nothing listens")
    return is_starting or state.word in ("OFFLINE", "expelled", "ERROR")


def state_of(facts: ServerFacts) -> ServerStatus:
    """The state of one server, without what its peers add to it."""
    if facts.container != "running":
        if facts.container == "paused":
            return ServerStatus("frozen", repair="wait")
        return ServerStatus("down", facts.container, repair="wait")
    if facts.status is None:
        return _silent(facts)
    if facts.topology == "galera":
        return _galera(facts, facts.status)
    if facts.topology == "gr":
        return _member(facts, facts.status)
    return replicating(facts)


_PHASES = (
    (r"WSREP_SST: \[INFO\] (.*|)", "joiner", "full state transfer (SST)"),
    (
        r"Requesting state transfer|State transfer required|SST request",
        "joiner",
        "state transfer requested",
    ),
    (r"Receiving IST: *([\d.]+%)", "joiner", "incremental state transfer (IST), {0} received"),
    (r"Receiving IST|Prepared IST receiver", "joiner", "incremental state transfer (IST)"),
    (
        (
            r"Starting crash recovery|Recovered position|Starting XA crash recovery|InnoDB:"
            r" Starting a batch to recover"
        ),
        "recovering",
        "crash recovery",
    ),
    (r"\[forming\] waiting, (.*)", "waiting", "for its cluster: {0}"),
)
"""Log lines of a server that takes no connections yet; the line that comes last counts."""
_MAY_JOIN = ("joiner", "starting", "waiting", "recovering", "non-primary", "no answer")
"""A node takes no connections until a full state transfer is done."""
_SERVES = "ready for connections"


def _silent(facts: ServerFacts) -> ServerStatus:
    """A server whose container runs, and which does not answer."""
    for line in reversed(facts.log.splitlines()):
        if _SERVES in line:
            break
        for pattern, word, text in _PHASES:
            if found := re.search(pattern, line):
                return ServerStatus(word, text.format(*found.groups()), repair="wait")
    if facts.error.startswith("nothing listens"):
        return ServerStatus("starting", facts.error, repair="wait")
    if facts.topology == "gr" and (reason := reason_in(facts.log, "gr")):
        # While it leaves its group it does not say what is in its tables of the group.
        return ServerStatus("leaving", reason, repair=_repair_of(reason))
    return ServerStatus("no answer", facts.error, repair="wait")


def _galera(facts: ServerFacts, status: Mapping[str, str]) -> ServerStatus:
    """Source: Galera's manual, "Node State Changes" and "Galera Status Variables"."""
    component = status.get("wsrep_cluster_status", "Disconnected")
    comment = status.get("wsrep_local_state_comment", "")
    number = status.get("wsrep_local_state", "")
    view = _addresses(status.get("wsrep_incoming_addresses", ""))
    size = int(status.get("wsrep_cluster_size") or 0)
    if number == "5" or comment == "Inconsistent":
        return ServerStatus(
            "evicted", reason_in(facts.log, "galera") or "its data differs", (), "restart"
        )
    if component == "Disconnected":
        reason = reason_in(facts.log, "galera") or "its provider is not connected"
        return ServerStatus("left", reason, (), "restart")
    if component != "Primary":
        return ServerStatus(
            "non-primary", f"sees {size} of {facts.members} members, no quorum", view, "wait"
        )
    return _galera_primary(facts, status, number, view, size)


def _galera_primary(
    facts: ServerFacts, status: Mapping[str, str], number: str, view: tuple[str, ...], size: int
) -> ServerStatus:
    queue = int(float(status.get("wsrep_local_recv_queue") or 0))
    behind = f"{queue} write sets to apply" if queue else ""
    if number == "2":
        return ServerStatus("donor", behind, view, "wait")
    if number == "3":
        return ServerStatus("joined", behind or "catching up", view, "wait")
    if number != "4":
        progress = status.get("wsrep_ist_receive_status") or _progress(facts.log)
        return ServerStatus("joiner", ", ".join(filter(None, (progress, behind))), view, "wait")
    if status.get("wsrep_ready", "ON") != "ON":
        return ServerStatus("not ready", "wsrep_ready is OFF", view, "wait")
    if size < facts.members:
        return ServerStatus(f"{size} of {facts.members} members", "", view)
    return ServerStatus("synced", behind, view)


def _progress(log: str) -> str:
    """Progress of a joiner's state transfer, by its log."""
    return _silent(ServerFacts("galera", log=log)).reason


def _with_joiners(node: str, states: Mapping[str, ServerStatus]) -> ServerStatus:
    """A donor serves those who join; one without them was desynced by hand, or by a backup."""
    own = states[node]
    if own.word != "donor":
        return own
    joiners = [name for name, each in states.items() if each.word in _MAY_JOIN]
    if not joiners:
        return replace(own, word="desynced", reason=own.reason or "it serves no joiner now")
    return replace(own, reason=", ".join(filter(None, (f"for {', '.join(joiners)}", own.reason))))


def _member(facts: ServerFacts, status: Mapping[str, str]) -> ServerStatus:
    """Source: MySQL's manual, "Group Replication Server States"."""
    rows = [row.split() for row in status.get("members", "").split(",") if row.strip()]
    view = tuple(row[0] for row in rows if len(row) > 1)
    state = status.get("state") or "OFFLINE"
    failed = status.get("applier_error") or status.get("recovery_error") or ""
    unreachable = [row[0] for row in rows if len(row) > 1 and row[1] == "UNREACHABLE"]
    queue = status.get("queue", "0")
    if failed and state != "ONLINE":
        return ServerStatus(state, failed, (), _repair_of(failed))
    if state in ("ERROR", "OFFLINE"):
        reason = reason_in(facts.log, "gr")
        word = "expelled" if "expelled" in reason else state
        return ServerStatus(
            word, reason or "it is in no group", (), "restart", has_cause=bool(reason)
        )
    if 2 * len(unreachable) >= len(view):
        return ServerStatus(
            "blocked", f"no majority: {', '.join(unreachable)} UNREACHABLE", view, "wait"
        )
    if state == "RECOVERING":
        behind = f"{queue} transactions to apply" if queue not in NO_ERROR else ""
        return ServerStatus(state, behind, view, "wait")
    if unreachable:
        word = state_of_rest(len(view) - len(unreachable), facts.members)
        return ServerStatus(word, f"{', '.join(unreachable)} UNREACHABLE", view)
    if len(view) < facts.members:
        return ServerStatus(state_of_rest(len(view), facts.members), "", view)
    return ServerStatus(state, "", view)


def _repair_of(failed: str) -> Repair:
    """The repair for an applier's error, such as ``error 1032: …``, or one in a log."""
    codes = re.findall(r"error (\d+)|Error_code: (\d+)", failed)
    return "rebuild" if any(differs(first or second) for first, second in codes) else "restart"


def state_of_rest(size: int, members: int) -> str:
    """The word for a healthy member of a cluster from which others are missing."""
    return f"{size} of {members} members"


def _with_split(node: str, own: ServerStatus, states: Mapping[str, ServerStatus]) -> ServerStatus:
    """Members that are well and see different others: each with what the others see."""
    if not _serves(own):
        return own
    others = {name: each for name, each in states.items() if name != node and _serves(each)}
    apart = {name: each for name, each in others.items() if {*each.view} != {*own.view}}
    if not apart:
        return own
    seen = "; ".join(f"{name} sees {', '.join(each.view)}" for name, each in apart.items())
    reason = f"views differ: sees {', '.join(own.view)}; {seen}"
    return replace(own, word="split view", reason=reason, repair="wait")


def _serves(state: ServerStatus) -> bool:
    """Whether a member of a cluster serves clients, and says whom it sees."""
    return bool(state.view) and (state.is_well or state.word.endswith(" members"))


def _addresses(text: str) -> tuple[str, ...]:
    """``galera2:0,galera3:3306`` → the names."""
    hosts = (address.rpartition(":")[0] or address for address in text.split(",") if address)
    return tuple(sorted(host for host in hosts if host != "AUTO"))


_GALERA_READY = re.compile(r"(\d+),([\w-]*),(\d+)")
_GR_READY = re.compile(r"(\w+),(\w+),(\w+)")


def ready_in_words(topology: str | None, members: int, answer: str) -> str:
    """The answer of a cluster's member to whether it is ready: ``2,Primary,4`` is ``2 of 3
    members``.
    """
    if topology == "galera" and (found := _GALERA_READY.fullmatch(answer)):
        status = {
            "wsrep_cluster_size": found[1],
            "wsrep_cluster_status": found[2],
            "wsrep_local_state": found[3],
        }
        state = state_of(ServerFacts(topology, members, status=status))
        return f"synced, {members} members" if state.word == "synced" else state.word
    if topology == "gr" and (found := _GR_READY.fullmatch(answer)):
        online, primaries = (number if number.isdigit() else "0" for number in found.groups()[:2])
        if int(online) < members:
            return f"{online} of {members} members ONLINE"
        return f"ONLINE, {members} members, {primaries} PRIMARY"
    return answer

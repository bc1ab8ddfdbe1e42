"""Replication between groups, as `REPLICATE=` asks for it: read, checked, given to its nodes."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.profile.apply import map_nodes
from sandbox.profile.library import Question, Variant
from sandbox.profile.names import LINKS, canonical
from sandbox.profile.plan import Group, GroupLink, Node, Plan

EXAMPLE = 'REPLICATE="mysql1>galera1 mysql2>galera1:channel=b,delay=30s"'
_LINK = re.compile(r"(?P<source>[a-z][a-z0-9-]*)>(?P<target>[a-z][a-z0-9-]*)(?::(?P<options>.+))?")
_CHANNEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_SECONDS = re.compile(r"(\d+)(s|m|h)?")
_LENGTH = {None: 1, "s": 1, "m": 60, "h": 3600}
_MOST_SECONDS = 86_400
_SWITCHES = {"on": True, "1": True, "off": False, "0": False}

FILTERS = ("do_db", "ignore_db", "do_table", "ignore_table", "wild_do_table", "wild_ignore_table")
"""The replication filters of both families, without the word `replicate` before them."""

_OF_MYSQL = {
    "bind": "8.0.23",
    "compression_algorithms": "8.0.23",
    "gtid_only": "8.0.27",
    "heartbeat_period": "8.0.23",
    "network_namespace": "8.0.23",
    "privilege_checks_user": "8.0.18",
    "require_row_format": "8.0.19",
    "require_table_primary_key_check": "8.0.20",
    "assign_gtids_to_anonymous_transactions": "8.0.23",
    "connect_retry": "5.5",
    "retry_count": "5.6",
    "zstd_compression_level": "8.0.18",
    "tls_version": "5.7",
}
"""Further options of CHANGE REPLICATION SOURCE TO → the version that has them first.

Source: MySQL's manual, "CHANGE REPLICATION SOURCE TO Statement".
"""
_OF_MARIADB = {
    "connect_retry": "5.5",
    "heartbeat_period": "5.5",
    "do_domain_ids": "10.1",
    "ignore_domain_ids": "10.1",
    "demote_to_slave": "10.10",
    "retry_count": "12.0",
}
"""Further options of CHANGE MASTER TO. Source: MariaDB's documentation, "CHANGE MASTER TO"."""
_BARE = ("gtid_only", "privilege_checks_user", "require_row_format", "network_namespace")
_BARE_OF_MYSQL = (
    *_BARE,
    "require_table_primary_key_check",
    "assign_gtids_to_anonymous_transactions",
)
"""Options whose names do not begin with SOURCE_."""
_BARE_OF_MARIADB = ("do_domain_ids", "ignore_domain_ids")
_SINGLE_DOMAIN = 100
"""MariaDB's GTID domain of a single server's group is this plus its number: a cluster's own is 0,
and each member's local one is its server_id."""


def with_links(plan: Plan) -> Plan:
    """The plan with the links of its request, each known to the nodes of its target.

    Raises SandboxError (exit 2) for a link that cannot work.
    """
    texts = [piece for text in plan.request.links for piece in _pieces(text)]
    if not texts:
        return plan
    links: list[GroupLink] = []
    for text in texts:
        links.append(_link(text, len(links) + 1, plan))
    links = _named(links, plan)
    _refuse_twice(links, plan)
    _refuse_equal_ids(links, plan)
    linked = replace(plan, links=tuple(links))
    return map_nodes(linked, lambda node: _with_links(node, linked))


def _pieces(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise _no_link(text, str(problem)) from problem


def _no_link(text: str, reason: str) -> SandboxError:
    known = "a link is source>target, with options after a colon: channel=, delay=, gtid=, ssl=, …"
    return SandboxError(f"REPLICATE: {text!r} is not a link ({reason})", known, f"try: {EXAMPLE}")


def _link(text: str, number: int, plan: Plan) -> GroupLink:
    match = _LINK.fullmatch(text)
    if match is None:
        raise _no_link(text, "no source>target")
    source, first_source = _end(match["source"], text, plan)
    target, first_target = _end(match["target"], text, plan)
    if source == target:
        known = f"{match['source']} and {match['target']} are of the same group"
        raise _refused(text, "a group does not replicate from itself", known)
    _refuse_target(text, target, first_target)
    given = _options(match["options"] or "", text)
    made = GroupLink(
        number=number,
        text=text,
        sources=tuple(node.name for node in _from(source, first_source)),
        targets=tuple(node.name for node in _from(target, first_target)),
        source_group=source.index,
        target_group=target.index,
    )
    return _with_options(made, given, source, target)


def _end(word: str, text: str, plan: Plan) -> tuple[Group, Node]:
    """The group that a word means, and its node to begin with: a node, or a component's only
    group.
    """
    for group in plan.groups:
        for node in group.servers:
            if node.name == word:
                return group, node
    named = [group for group in plan.groups if group.component == word and group.databases]
    if len(named) == 1:
        return named[0], named[0].databases[0]
    known = did_you_mean(word, [node.name for node in plan.databases])
    if named:
        known = f"{word} has {len(named)} groups: {', '.join(each.first for each in named)}"
    raise _refused(text, f"no server of the profile {plan.profile} is called {word}", known)


def _from(group: Group, first: Node) -> Iterator[Node]:
    """The servers of a group that can be its end of a link, the named one first."""
    servers = group.databases
    if group.topology == "single":
        servers = group.servers
    yield first
    yield from (node for node in servers if node.name != first.name)


def _refuse_target(text: str, target: Group, named: Node) -> None:
    if named.kind == "replica":
        known = f"it replicates from {target.first}; a link leads to that server"
        raise _refused(text, f"{named.name} takes no writes", known)
    if target.topology == "gr" and not target.every_member_writes and named.name != target.first:
        known = f"the group's primary does: {target.first}, or the one that is elected after it"
        raise _refused(text, f"{named.name} takes no writes", known)
    if target.topology == "single" and target.replicas:
        known = f"{target.first} has replicas, and another server may be promoted in its place"
        raise _refused(text, "a link leads to a single server or a cluster", known)


def _options(text: str, link: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for piece in filter(None, text.split(",")):
        name, equals, value = piece.partition("=")
        if not equals or not value:
            raise _no_link(link, f"{piece!r} is not option=value")
        key = re.sub(r"^(source|master|replicate)_", "", canonical(name))
        if key in given:
            raise _refused(link, f"{key} is given twice", "each option is given once")
        given[key] = value
    return given


def _with_options(
    link: GroupLink, given: dict[str, str], source: Group, target: Group
) -> GroupLink:
    left = dict(given)
    channel = left.pop("channel", None)
    if channel is not None and not _CHANNEL.fullmatch(channel):
        known = "a channel has at most 32 letters, digits, _ and -, a letter first"
        raise _refused(link.text, f"channel={channel} is not valid", known)
    delay_s = _seconds(left.pop("delay", "0"), link)
    with_gtid = _switch(left.pop("gtid", "on"), "gtid", link)
    with_ssl = _switch(left.pop("ssl", "off"), "ssl", link)
    filters = {name: tuple(left.pop(name).split("|")) for name in FILTERS if name in left}
    mixed = source.family != target.family
    if mixed:
        _refuse_mixed(link, source, target, "gtid" in given and with_gtid)
        with_gtid = False
    without = _without_gtid(source, target)
    if with_gtid and without and "gtid" in given:
        raise _refused(link.text, "gtid=on cannot work", f"{without} has no GTIDs")
    if without:
        with_gtid = False
    if "ignore_server_ids" in left and with_gtid and target.family == "mysql":
        known = (
            "the target then waits for them for ever: gtid=off, or a filter of schemas (do_db=…)"
        )
        raise _refused(link.text, "ignore_server_ids drops transactions that have GTIDs", known)
    if not with_gtid:
        # A file and a place in it mean something to these two servers alone.
        link = replace(link, sources=link.sources[:1], targets=link.targets[:1])
    further = _further(left, link, target)
    return replace(
        link,
        channel=channel or "",
        delay_s=delay_s,
        gtid=with_gtid,
        ssl=with_ssl,
        mixed=mixed,
        managed=with_gtid and source.topology == "gr" and target.databases[0].at_least("8.0.23"),
        filters=filters,
        further=further,
    )


def _seconds(text: str, link: GroupLink) -> int:
    match = _SECONDS.fullmatch(text)
    seconds = int(match[1]) * _LENGTH[match[2]] if match else -1
    if not 0 <= seconds <= _MOST_SECONDS:
        raise _refused(link.text, f"delay={text} is not a delay", "such as 30s, 5m or 1h")
    return seconds


def _switch(text: str, name: str, link: GroupLink) -> bool:
    if text.lower() not in _SWITCHES:
        raise _refused(link.text, f"{name}={text} is neither on nor off", f"{name}=on, {name}=off")
    return _SWITCHES[text.lower()]


def _without_gtid(source: Group, target: Group) -> str:
    """A server of a link that has no GTIDs; empty where both ends have them."""
    for node in (*source.servers, *target.servers):
        if node.component.spec.family == "mysql" and not node.at_least("5.6"):
            return node.name
        if str(node.assigned("gtid_mode", "ON")).upper() in ("OFF", "0"):
            return node.name
    return ""


def _refuse_mixed(link: GroupLink, source: Group, target: Group, gtid_asked: bool) -> None:
    """Refuses what two families cannot replicate.

    Source: MariaDB's documentation, "Replication Compatibility Between MariaDB and MySQL". The
    other way MySQL's applier ends at the first event of MariaDB's own kind (error 13121, seen with
    11.8 as the source of 9.7).
    """
    if gtid_asked:
        known = f"GTIDs of {source.component} and {target.component} are of different kinds"
        raise _refused(link.text, "gtid=on cannot work between two families", known)
    if target.family == "mysql":
        known = "its applier cannot read the events of MariaDB's binary log (error 13121)"
        raise _refused(link.text, f"{target.first} cannot replicate from MariaDB", known)
    first = target.databases[0]
    if source.databases[0].at_least("8.0") and not _reads_mysql_8(first):
        known = "MariaDB can from 10.6.21, 10.11.11, 11.4.5 and 11.7.2 on"
        what = f"{first.name} ({first.version}) cannot replicate from MySQL 8.0 or newer"
        raise _refused(link.text, what, known)


def _reads_mysql_8(node: Node) -> bool:
    """Whether a MariaDB server knows the events of MySQL 8.0's binary log."""
    fixed = {"10.6": "10.6.21", "10.11": "10.11.11", "11.4": "11.4.5"}
    since = fixed.get(node.series, "11.7.2")
    return node.at_least(since) or (node.series in fixed and node.version == node.series)


def _further(
    given: Mapping[str, str], link: GroupLink, target: Group
) -> tuple[tuple[str, str], ...]:
    """The remaining options, as the target's own statement has them: name, quoted value."""
    node = target.databases[0]
    known = _OF_MARIADB if target.family == "mariadb" else _OF_MYSQL
    bare = _BARE_OF_MARIADB if target.family == "mariadb" else _BARE_OF_MYSQL
    found = []
    for name, value in given.items():
        since = "5.5" if name == "ignore_server_ids" else known.get(name)
        if since is None:
            options = ["channel", "delay", "gtid", "ssl", *FILTERS, *known, "ignore_server_ids"]
            raise _refused(link.text, f"there is no option '{name}'", did_you_mean(name, options))
        if not node.at_least(since):
            reason = f"{name} exists from {since} on"
            raise _refused(link.text, f"{node.name} has no option {name}", reason)
        prefix = (
            "MASTER_" if target.family == "mariadb" or not node.at_least("8.0.23") else "SOURCE_"
        )
        own = name in bare or name == "ignore_server_ids"
        word = name.upper() if own else f"{prefix}{name.upper()}"
        found.append((word, _quoted(name, value)))
    return tuple(found)


def _quoted(name: str, value: str) -> str:
    if name.endswith("_ids"):
        return f"({', '.join(value.split('|'))})"
    if re.fullmatch(r"\d+(\.\d+)?", value) or name in (
        "require_table_primary_key_check",
        "assign_gtids_to_anonymous_transactions",
    ):
        return value.upper()
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _named(links: Sequence[GroupLink], plan: Plan) -> list[GroupLink]:
    """The links with a channel each: of several to one group each is named after its source."""
    several = {
        link.target_group
        for link in links
        if sum(other.target_group == link.target_group for other in links) > 1
    }
    named = []
    for link in links:
        clustered = plan.groups[link.target_group - 1].topology == "gr"
        if not link.channel and (link.target_group in several or clustered):
            link = replace(link, channel=link.sources[0])
        named.append(link)
    return named


def _refuse_twice(links: Iterable[GroupLink], plan: Plan) -> None:
    seen: dict[tuple[int, str], GroupLink] = {}
    for link in links:
        first = seen.setdefault((link.target_group, link.channel), link)
        if first is not link:
            known = f"{first.text} has it; channel=… gives it another name"
            what = f"the channel '{link.channel}' of {link.targets[0]} exists already"
            raise _refused(link.text, what, known)
        if link.channel and plan.groups[link.target_group - 1].family == "mysql":
            node = plan.groups[link.target_group - 1].databases[0]
            if not node.at_least("5.7"):
                known = "channels exist from 5.7 on"
                raise _refused(link.text, f"{node.name} has one source at most", known)


def _refuse_equal_ids(links: Iterable[GroupLink], plan: Plan) -> None:
    """A server drops what it finds under its own server_id."""
    for link in links:
        for source in (plan.node(name) for name in link.sources):
            for target in (plan.node(name) for name in link.targets):
                theirs = source.assigned("server_id", source.server_id)
                if str(theirs) == str(target.assigned("server_id", target.server_id)):
                    known = (
                        f"{target.name} would take all that comes from {source.name} for its own"
                    )
                    raise _refused(link.text, f"both have server_id {theirs}", known)


def _refused(text: str, what: str, known: str) -> SandboxError:
    return SandboxError(f"REPLICATE: {text}: {what}", known, f"try: {EXAMPLE}")


def _with_links(node: Node, plan: Plan) -> Node:
    """A server with the links that lead to it, and with what replication between groups asks of
    it.
    """
    own = tuple(link for link in plan.links if node.name in link.targets)
    concerned = [
        link for link in plan.links if node.group_index in (link.source_group, link.target_group)
    ]
    if not node.is_server or not concerned:
        return node
    group = plan.groups[(node.group_index or 0) - 1]
    applied = [*node.applied]
    if identity := _identity(group):
        applied.append(("replication-identity", identity))
    if own:
        applied.append(("replicate", _target(node, group)))
    return replace(node, links=own, applied=tuple(applied))


def _identity(group: Group) -> Variant | None:
    """What distinguishes the transactions of a group from those of others; None: nothing
    has to.
    """
    if group.topology == "gr" and group.index > 1:
        # Every group of a stack has the same UUID otherwise, which stands in its GTIDs.
        name = "group_replication_group_name"
        value = f"{{{{ secrets.uuid[:-2] }}}}{group.index:02x}"
        proof = Question(query=f"select @@global.{name}", expect=value)
        return Variant(variables={f"loose_{name}": value}, proof=proof)
    if group.family != "mariadb":
        return None
    domain = str(_SINGLE_DOMAIN + group.index)
    variables = {"log_bin": "binlog"}
    name = "log_bin"
    expected = "1"
    if group.topology == "single":
        name, expected = "gtid_domain_id", domain
    elif group.index > 1:
        name, expected = "wsrep_gtid_domain_id", domain
    if name != "log_bin":
        variables[name] = domain
    proof = Question(query=f"select @@global.{name} + 0", expect=expected)
    return Variant(variables=dict(variables), proof=proof)


def _target(node: Node, group: Group) -> Variant:
    """The script beside the server begins replication, once its source and place are right."""
    modern = group.family == "mysql" and node.at_least("8.0.26")
    name = "skip_replica_start" if modern else "skip_slave_start"
    up = Question(command=["bash", LINKS, "up"])
    return Variant(variables={name: "ON"}, proof=up)

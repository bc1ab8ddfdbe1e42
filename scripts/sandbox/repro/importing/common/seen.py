"""PURE: which kind of server options are for, and how many members it has."""

import re
from collections.abc import Sequence

from sandbox.profile.names import bare
from sandbox.repro.importing.common.options import Option
from sandbox.repro.importing.common.servers import SeenServer

_OF_MARIADB = re.compile(r"aria_|gtid_strict|rocksdb|query_cache|thread_handling|innodb_snapshot")
_CLUSTERS = ("galera", "pxc", "gr", "psgr")
_LISTS_OF_MEMBERS = ("wsrep_cluster_address", "group_replication_group_seeds")
_MEMBERS = 3
"""Of a cluster whose options name none."""


def seen_in_options(options: Sequence[Option]) -> SeenServer:
    """The kind of server that options are for; where nothing says it, MySQL."""
    names = {bare(option.name) for option in options}
    values = " ".join(option.value or "" for option in options).lower()
    galera = not names.isdisjoint(("wsrep_provider", "wsrep_cluster_address"))
    group = any(name.startswith("group_replication_") for name in names)
    if any(name.startswith("pxc_") for name in names):
        words = "percona"
    elif "mariadb" in values or any(_OF_MARIADB.match(name) for name in names):
        words = "mariadb"
    else:
        words = ""
    return SeenServer(None, words, galera, group)


def members_of(server: SeenServer, options: Sequence[Option]) -> int | None:
    """How many members the options of a cluster name, at least two; None: it is no cluster."""
    if server.term not in _CLUSTERS:
        return None
    lists = [option.value or "" for option in options if bare(option.name) in _LISTS_OF_MEMBERS]
    members = lists[-1].removeprefix("gcomm://") if lists else ""
    named = [each for each in members.split(",") if each.strip()]
    return min(max(len(named), 2), 9) if named else _MEMBERS


def term_of(server: SeenServer, options: Sequence[Option]) -> str:
    """The term of a profile, without a version: ``galera3``."""
    return f"{server.term}{members_of(server, options) or ''}"

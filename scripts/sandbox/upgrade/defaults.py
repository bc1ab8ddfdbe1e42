"""PURE: variables that the newer server does not have, defaults that are others, and what in a log
meets them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.record.upgrade import DefaultRecord, RemovedRecord
from sandbox.upgrade.plans import Family
from sandbox.upgrade.replay import DistinctQuery
from sandbox.upgrade.sql_text import kind_of, tokens, words

QUESTIONS: dict[Family, str] = {
    "mariadb": (
        "SELECT lower(variable_name), global_value, default_value"
        " FROM information_schema.system_variables"
    ),
    "mysql": (
        "SELECT lower(v.variable_name), v.variable_value,"
        " if(i.variable_source = 'COMPILED', v.variable_value, NULL)"
        " FROM performance_schema.global_variables v"
        " JOIN performance_schema.variables_info i USING (variable_name)"
    ),
}
"""Name, value and default of every variable; MySQL knows the default of what nobody has set."""
_OF_PLACE = re.compile(
    r"version|hostname|datadir|basedir|tmpdir|(^|_)dir$|_dir$|socket|pid_file|_file$|server_u"
    r"|gtid|timestamp|_error_log|report_|license|performance_schema|wsrep_|port$"
)
"""Variables that say where a server is and what it is called, or whose size follows the machine."""
_NEW_NAMES = {
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
    "query_cache_size": "none: the query cache is gone",
    "query_cache_type": "none: the query cache is gone",
    "have_ssl": "the variables ssl_ca, ssl_cert, ssl_key",
    "log_warnings": "log_error_verbosity",
    "expire_logs_days": "binlog_expire_logs_seconds",
    "master_info_repository": "none: positions are in tables",
    "relay_log_info_repository": "none: positions are in tables",
    "innodb_log_files_in_group": "innodb_redo_log_capacity",
    "innodb_file_format": "none: all tables have the newer format",
    "innodb_large_prefix": "none: it is always on",
    "slave_parallel_workers": "replica_parallel_workers",
    "slave_parallel_type": "replica_parallel_type",
    "default_authentication_plugin": "authentication_policy",
}
_FEWEST_ITEMS = 3
"""Of a list, such as optimizer_switch, of which only the items that differ are shown."""
Meets = Callable[[DistinctQuery], bool]


def _defines_text(query: DistinctQuery) -> bool:
    """Whether it makes a table, a column or a schema without saying the collation."""
    found = words(query.text)
    makes = found[:1] in (["CREATE"], ["ALTER"]) and ("TABLE" in found or "DATABASE" in found)
    return makes and "COLLATE" not in found


def _compares_text(query: DistinctQuery) -> bool:
    """Whether it compares or sorts, which a collation decides."""
    has_string = any(kind == "string" for kind, _ in tokens(query.text))
    found = words(query.text)
    return has_string or "ORDER" in found or "GROUP" in found or "DISTINCT" in found


def _has_timestamp(query: DistinctQuery) -> bool:
    found = words(query.text)
    return kind_of(query.text) == "definition" and "TIMESTAMP" in found


def _groups(query: DistinctQuery) -> bool:
    return "GROUP" in words(query.text)


def _writes(query: DistinctQuery) -> bool:
    return kind_of(query.text) == "write"


def _joins(query: DistinctQuery) -> bool:
    found = words(query.text)
    return "JOIN" in found or found.count("SELECT") > 1


def _begins(query: DistinctQuery) -> bool:
    return kind_of(query.text) == "begin"


def _defines_table(query: DistinctQuery) -> bool:
    return words(query.text)[:2] in (["CREATE", "TABLE"], ["ALTER", "TABLE"])


def _in_list(query: DistinctQuery) -> bool:
    return "IN" in words(query.text)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What another default means, and which queries meet it."""

    text: str
    meets: Meets
    who: str
    """What those queries are, in a few words."""


_COLLATION = "a column without a collation of its own compares and sorts in another way"
MEANINGS: Mapping[str, Meaning] = {
    "innodb_snapshot_isolation": Meaning(
        "a transaction ends with error 1020 where it writes a row that changed since it began to"
        " read; before, it went on with the newest row",
        _begins,
        "transactions",
    ),
    "collation_server": Meaning(_COLLATION, _defines_text, "definitions without a collation"),
    "character_set_server": Meaning(
        "a column without a character set of its own stores other characters, in other lengths",
        _defines_text,
        "definitions without a collation",
    ),
    "character_set_collations": Meaning(
        _COLLATION, _defines_text, "definitions without a collation"
    ),
    "default_collation_for_utf8mb4": Meaning(
        _COLLATION, _defines_text, "definitions without a collation"
    ),
    "collation_connection": Meaning(
        "literals compare in another way", _compares_text, "comparisons with literals"
    ),
    "sql_mode": Meaning(
        "values and groupings that were taken with a warning are refused, or the reverse",
        lambda query: _writes(query) or _groups(query),
        "writes and groupings",
    ),
    "old_mode": Meaning(
        "what `utf8` means and how dates are cast is another", _defines_text, "definitions"
    ),
    "explicit_defaults_for_timestamp": Meaning(
        "the first TIMESTAMP column of a table is no longer NOT NULL DEFAULT CURRENT_TIMESTAMP ON"
        " UPDATE by itself",
        _has_timestamp,
        "definitions of TIMESTAMP columns",
    ),
    "optimizer_switch": Meaning("other plans are considered", _joins, "joins and subqueries"),
    "optimizer_use_condition_selectivity": Meaning(
        "rows are estimated in another way", _joins, "joins and subqueries"
    ),
    "optimizer_max_sel_args": Meaning("long lists are estimated by less", _in_list, "lists"),
    "eq_range_index_dive_limit": Meaning(
        "long lists are estimated from statistics", _in_list, "lists"
    ),
    "join_buffer_size": Meaning("joins without a key take other memory", _joins, "joins"),
    "group_concat_max_len": Meaning(
        "GROUP_CONCAT cuts its result elsewhere",
        lambda query: "GROUP_CONCAT" in words(query.text),
        "GROUP_CONCAT",
    ),
    "default_authentication_plugin": Meaning(
        "new accounts need clients that know its method",
        lambda query: words(query.text)[:2] == ["CREATE", "USER"],
        "new accounts",
    ),
    "innodb_default_row_format": Meaning(
        "new tables have another row format", _defines_table, "definitions of tables"
    ),
    "innodb_strict_mode": Meaning(
        "table options that were ignored are refused", _defines_table, "definitions of tables"
    ),
    "alter_algorithm": Meaning(
        "an ALTER may copy or lock where it did not",
        lambda query: words(query.text)[:1] == ["ALTER"],
        "ALTER",
    ),
    "transaction_isolation": Meaning("transactions see other rows", _begins, "transactions"),
    "binlog_row_image": Meaning("replicas get other columns", _writes, "writes"),
    "binlog_format": Meaning("replicas get rows instead of statements", _writes, "writes"),
    "max_allowed_packet": Meaning(
        "longer statements and rows are taken, or refused", _writes, "writes"
    ),
}


@dataclass(frozen=True, slots=True)
class ServerVariable:
    """A variable of a server. ``default`` None: nobody can say."""

    value: str
    default: str | None


def variables_of(rows: Sequence[Sequence[object]]) -> dict[str, ServerVariable]:
    """By name, from the answer to a question above."""
    return {
        str(name): ServerVariable(
            "" if value is None else str(value), None if default is None else str(default)
        )
        for name, value, default in rows
    }


def changed_defaults(
    on_from: Mapping[str, ServerVariable],
    on_to: Mapping[str, ServerVariable],
    queries: Sequence[DistinctQuery],
) -> list[DefaultRecord]:
    """Variables of both servers whose default differs; those that the queries meet come first."""
    found = []
    for name, before in sorted(on_from.items()):
        after = on_to.get(name)
        if after is None or before.default is None or after.default is None:
            continue
        if before.default == after.default or _OF_PLACE.search(name):
            continue
        old, new = _what_differs(before.default, after.default)
        met = _met(name, queries)
        meaning = MEANINGS[name].text if name in MEANINGS else None
        found.append(DefaultRecord(variable=name, on_from=old, on_to=new, met=met, meaning=meaning))
    return sorted(found, key=lambda each: each.met is None)


def _what_differs(before: str, after: str) -> tuple[str, str]:
    """Both values; of two long lists only the items that the other one does not have."""
    ours, theirs = before.split(","), after.split(",")
    if min(len(ours), len(theirs)) < _FEWEST_ITEMS:
        return before, after
    own = [item for item in ours if item not in theirs]
    new = [item for item in theirs if item not in ours]
    return ",".join([*own, "…"]), ",".join([*new, "…"])


def _met(name: str, queries: Sequence[DistinctQuery]) -> str | None:
    """``3 distinct queries: definitions without a collation``."""
    naming = [each for each in queries if names_variable(each.text, name)]
    if naming:
        return f"{_distinct(len(naming))} that set it or read it"
    known = MEANINGS.get(name)
    if known is None:
        return None
    met = sum(known.meets(each) for each in queries)
    return f"{_distinct(met)}: {known.who}" if met else None


def _distinct(number: int) -> str:
    return f"{number} distinct {'query' if number == 1 else 'queries'}"


def names_variable(sql: str, name: str) -> bool:
    """Whether a statement sets a variable, or reads it with @@."""
    if name not in sql.lower():
        return False
    found = [each.lower() for each in words(sql)]
    if kind_of(sql) == "set" and name in found:
        return True
    return f"@@{name}" in found or f"@@global.{name}" in sql.lower()


def removed_variables(
    on_from: Mapping[str, ServerVariable],
    on_to: Mapping[str, ServerVariable],
    queries: Sequence[DistinctQuery],
    options: Sequence[str],
) -> list[RemovedRecord]:
    """Variables of the older server that the newer one does not have; those that are named come
    first. ``options``: names in the option file, with underscores.
    """
    found = []
    for name in sorted(on_from.keys() - on_to.keys()):
        named = None
        if any(names_variable(each.text, name) for each in queries):
            named = "the log"
        elif name in options:
            named = "the option file"
        instead = _NEW_NAMES.get(name)
        if instead and not instead.startswith("none") and instead in on_from.keys() - on_to.keys():
            instead = None
        found.append(RemovedRecord(variable=name, instead=instead, named_by=named))
    return sorted(found, key=lambda each: each.named_by is None)

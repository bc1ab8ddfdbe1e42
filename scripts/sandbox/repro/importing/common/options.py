"""PURE: options of servers, as files and command lines have them: which a stack can take over as
variables of SET=, and why it does without the others.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox.profile.names import PAIR_LISTS, bare, canonical, pairs_of
from sandbox.repro.importing.common.draft import NotTaken

_SECTION = re.compile(r"\s*\[(?P<name>[^\]]+)\]")
_SERVER_SECTION = re.compile(
    r"(?:mysqld|mariadbd|server|mariadb|galera|mysqld_cluster)(?:-\d+(?:\.\d+)?)?$"
)
"""Groups that a server reads; [mysqld-8.0] is for that series."""
_NUMBERED_SECTION = re.compile(r"(?:mysqld|mariadbd)\.?(?P<number>\d)$")
"""[mysqld.2] of the servers' test driver, and [mysqld2] of mysqld_multi."""
_OPTION = re.compile(r"(?P<name>[A-Za-z][\w.-]*)\s*(?:=\s*(?P<value>.*))?$")
_SIZE = re.compile(r"(?P<number>\d+)(?P<unit>[KMGTPE]?)i?B?$", re.IGNORECASE)
_LARGE = 1 << 30
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50, "e": 60}

_PATH = "a path: the containers have their own"
_PLACE = "an address or a port: the stack has its own"
_IDENTITY = "an identity: each server of the stack has its own"
_CLUSTER = "the cluster is formed by the stack"
_SECRET = "an account: the stack draws its own passwords"  # noqa: S105  (a reason)
_OWNED = {
    _PATH: (
        "datadir basedir tmpdir plugin_dir socket pid_file log_error general_log_file"
        " slow_query_log_file log_slow_query_file log_bin log_bin_basename log_bin_index relay_log"
        " relay_log_basename relay_log_index relay_log_info_file master_info_file init_file"
        " init_slave_file secure_file_priv slave_load_tmpdir replica_load_tmpdir lc_messages_dir"
        " language character_sets_dir innodb_data_home_dir innodb_log_group_home_dir"
        " innodb_undo_directory innodb_tmpdir innodb_directories innodb_temp_tablespaces_dir"
        " innodb_doublewrite_dir aria_log_dir_path ssl_ca ssl_capath ssl_cert ssl_key ssl_crl"
        " ssl_crlpath admin_ssl_ca admin_ssl_cert admin_ssl_key wsrep_data_home_dir"
        " wsrep_provider wsrep_notify_cmd core_file log_basename mysqlx_socket plugin_load"
        " plugin_load_add early_plugin_load log_error_services"
    ),
    _PLACE: (
        "port bind_address bind_addr extra_port admin_address admin_port mysqlx_port"
        " mysqlx_bind_address report_port report_host skip_networking proxy_protocol_networks"
        " wsrep_node_address wsrep_node_incoming_address wsrep_sst_receive_address"
        " group_replication_local_address group_replication_group_seeds"
        " group_replication_ip_allowlist group_replication_ip_whitelist"
    ),
    _IDENTITY: (
        "server_id server_uuid hostname wsrep_node_name gtid_domain_id wsrep_gtid_domain_id"
        " group_replication_group_name gtid_executed gtid_purged gtid_slave_pos gtid_binlog_pos"
        " gtid_current_pos gtid_binlog_state auto_increment_offset"
    ),
    _CLUSTER: (
        "wsrep_on wsrep_cluster_address wsrep_cluster_name wsrep_start_position wsrep_sst_method"
        " wsrep_sst_donor wsrep_new_cluster wsrep_gtid_mode group_replication_bootstrap_group"
        " group_replication_start_on_boot"
    ),
    _SECRET: (
        "user password report_user report_password wsrep_sst_auth master_user"
        " default_authentication_plugin authentication_policy skip_grant_tables"
    ),
}
_WHY_OWNED = {name: why for why, names in _OWNED.items() for name in names.split()}
_KEYS_OF_PLACES = re.compile(r"addr|host|dir|port|recv|socket_ssl|gcache\.name|pc\.bootstrap")
"""Of keys in wsrep_provider_options: they name addresses and files."""
_COLLATIONS = {
    "ascii": "ascii_general_ci",
    "binary": "binary",
    "latin1": "latin1_swedish_ci",
    "utf8": "utf8_general_ci",
    "utf8mb3": "utf8mb3_general_ci",
}
"""Character set → its own collation, where that is the same in every version."""
_OF_A_NAME_ALONE = (
    "skip_name_resolve",
    "skip_external_locking",
    "skip_show_database",
    "skip_slave_start",
    "skip_replica_start",
)
"""Variables whose own names begin with skip."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a server. ``value`` None: it stands alone; ``number``: of the one server that
    has it.
    """

    name: str
    value: str | None
    place: str
    number: int | None = None

    @property
    def text(self) -> str:
        """As it stood there."""
        return self.name if self.value is None else f"{self.name}={self.value}"


def options_of_file(text: str, name: str) -> tuple[list[Option], list[NotTaken]]:
    """The options of an option file's groups that servers read; what stands elsewhere is named by
    its group.
    """
    options = []
    left = []
    group = None
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{name}:{number}"
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", ";")):
            continue
        if stripped.startswith("!include"):
            left.append(NotTaken(place, stripped, "a file of its own: import it, too"))
        elif found := _SECTION.match(line):
            group = found["name"].strip().lower()
            if not _is_of_server(group):
                left.append(NotTaken(place, f"[{group}]", "a group that servers do not read"))
        elif group is None or not _is_of_server(group):
            continue
        elif option := _option(stripped, place):
            numbered = _NUMBERED_SECTION.match(group)
            options.append(replace(option, number=int(numbered["number"]) if numbered else None))
        else:
            left.append(NotTaken(place, stripped, "no option"))
    return options, left


def options_of_words(words: Sequence[str], place: str) -> tuple[list[Option], list[NotTaken]]:
    """The options of a command line: ``--name=value``."""
    options = []
    left = []
    for word in words:
        if not word.startswith("--"):
            left.append(NotTaken(place, word, "no option of a server"))
        elif option := _option(word.removeprefix("--"), place):
            options.append(option)
    return options, left


def _is_of_server(group: str) -> bool:
    return bool(_SERVER_SECTION.match(group) or _NUMBERED_SECTION.match(group))


def _option(text: str, place: str) -> Option | None:
    found = _OPTION.match(text)
    if found is None:
        return None
    value = found["value"]
    return Option(found["name"], None if value is None else _unquoted(value), place)


def _unquoted(value: str) -> str:
    """The value of an option file: quotes around it go, and a comment behind it."""
    value = value.strip()
    if value[:1] in ("'", '"') and value.find(value[0], 1) > 0:
        return value[1 : value.index(value[0], 1)]
    return re.sub(r"\s+#.*$", "", value).strip()


def taken_over(
    options: Sequence[Option],
    term: str,
    defaults: Mapping[str, str | None] | None = None,
) -> tuple[list[str], list[NotTaken]]:
    """The pairs of SET= for a profile of this term, and what is left out, each with the reason.

    ``defaults``: the options of its servers; one that they do not have is left out. Of an option
    that is given twice the last counts, as for a server.
    """
    pairs: dict[tuple[int | None, str], str] = {}
    left = []
    for option in options:
        name, value = _as_variable(option)
        why = _why_not(name, value, defaults)
        if why is not None:
            left.append(NotTaken(option.place, option.text, why))
            continue
        if bare(name) in PAIR_LISTS:
            value = _without_places(name, value)
            if not value:
                left.append(NotTaken(option.place, option.text, _PLACE))
                continue
        at = "" if option.number is None else f"{term}{option.number}:"
        pairs[option.number, bare(name)] = shlex.quote(f"{at}{name}={value}")
    return [*pairs.values(), *_collations(pairs)], left


def _collations(pairs: Mapping[tuple[int | None, str], str]) -> list[str]:
    """The collation of a character set that is given without one: an image may set another."""
    given = pairs.get((None, "character_set_server"))
    if given is None or any(name == "collation_server" for _, name in pairs):
        return []
    collation = _COLLATIONS.get(given.partition("=")[2].lower())
    return [f"collation_server={collation}"] if collation else []


def _as_variable(option: Option) -> tuple[str, str]:
    """Name and value as SET= takes them: one that stands alone is switched on, skip_x is x=OFF."""
    name = canonical(option.name)
    loose = "loose_" if name.startswith("loose_") else ""
    plain = name.removeprefix("loose_")
    if option.value is not None:
        return name, option.value
    if plain in _WHY_OWNED:
        return name, "ON"
    for prefix in ("skip_", "disable_"):
        if plain.startswith(prefix) and plain not in _OF_A_NAME_ALONE:
            return f"{loose}{plain.removeprefix(prefix)}", "OFF"
    return f"{loose}{plain.removeprefix('enable_')}", "ON"


def _why_not(name: str, value: str, defaults: Mapping[str, str | None] | None) -> str | None:
    """Why a variable is not taken over; None: it is."""
    plain = bare(name)
    if plain in _WHY_OWNED:
        return _WHY_OWNED[plain]
    if value.startswith(("/", "..")) or "@" in value:
        return _PATH if "/" in value else _PLACE
    if defaults is not None and not name.startswith("loose_") and plain not in defaults:
        return "the server of this version has no such option"
    size = bytes_of(value)
    if size is not None and size > _LARGE and not _counts(plain):
        return f"{value} is more than 1 GiB: name a smaller one that shows the bug, too"
    return None


def _counts(name: str) -> bool:
    """Whether a large number is no amount of memory or disk: a limit, or a time."""
    return not re.search(r"size|buffer|cache|capacity|memory|pool|length", name) or "max_" in name


def bytes_of(value: str) -> int | None:
    """``64G`` → bytes; None for what is no amount."""
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        return None
    return int(found["number"]) << _UNITS[found["unit"].lower()]


def _without_places(name: str, value: str) -> str:
    """A list of key=value without the keys that name addresses and files."""
    if bare(name) != "wsrep_provider_options":
        return value
    pairs = pairs_of(name, value)
    kept = {key: each for key, each in pairs.items() if not _KEYS_OF_PLACES.search(key) and each}
    return ";".join(f"{key}={each}" for key, each in kept.items())

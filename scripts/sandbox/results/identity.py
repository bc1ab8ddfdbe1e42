"""PURE: the single list of variables that identify a node and are never compared between variants."""

from fnmatch import fnmatchcase

# Shell patterns, by what they identify. Variables that configure a server must not match: log_bin, gtid_mode,
# relay_log_recovery, log_error_verbosity and explicit_defaults_for_timestamp are compared.
NODE_IDENTITY: dict[str, tuple[str, ...]] = {
    "ids": (
        *("server_id", "server_uid", "server_uuid", "group_replication_group_name", "pseudo_thread_id"),
        *("group_replication_view_change_uuid", "wsrep_cluster_name", "statement_id", "build_id"),
    ),
    "host names and addresses": (
        *("hostname", "report_host", "bind_address", "*_bind_address", "admin_address", "wsrep_node_*"),
        *("wsrep_cluster_address", "wsrep_sst_receive_address", "group_replication_local_address"),
        *("group_replication_group_seeds", "group_replication_advertise_recovery_endpoints"),
    ),
    "ports": ("port", "*_port"),
    "paths": (
        *("*dir", "*_directory", "*_path", "socket", "*_socket", "pid_file", "init_file", "secure_file_priv"),
        *("log_error", "*_log_file", "log_bin_basename", "log_bin_index", "relay_log", "relay_log_basename"),
        *("relay_log_index", "relay_log_info_file", "wsrep_provider", "*ssl_ca", "*ssl_cert", "*ssl_crl*", "*ssl_key"),
    ),
    "GTIDs and positions": (
        *("gtid_executed", "gtid_purged", "gtid_owned", "gtid_next", "gtid_binlog_pos", "gtid_binlog_state"),
        *("gtid_current_pos", "gtid_slave_pos", "gtid_seq_no", "last_gtid", "wsrep_start_position"),
    ),
    "times": ("timestamp", "*_commit_timestamp"),
    "of one session": (
        *("rand_seed1", "rand_seed2", "insert_id", "last_insert_id", "identity", "error_count", "warning_count"),
        *("in_transaction", "external_user", "proxy_user"),
    ),
    "secrets": ("report_password", "wsrep_sst_auth", "*_password_*_key*"),
}

# One Galera variable holds dozens of settings; these identify the node.
_PROVIDER_IDENTITY = (
    "base_*",
    "gcache.dir",
    "gcache.name",
    "gmcast.listen_addr",
    "ist.recv_*",
    "socket.ssl_*",
)
_PROVIDER_OPTIONS = "wsrep_provider_options"


def identifies_a_node(variable: str) -> bool:
    """Whether a variable identifies a node and is therefore never compared."""
    if variable.startswith(f"{_PROVIDER_OPTIONS}:"):
        option = variable.partition(":")[2]
        return any(fnmatchcase(option, pattern) for pattern in _PROVIDER_IDENTITY)
    return any(fnmatchcase(variable, pattern) for patterns in NODE_IDENTITY.values() for pattern in patterns)


def spread_out(variable: str, value: str) -> dict[str, str]:
    """The settings that a variable holds: itself, or each of Galera's as ``wsrep_provider_options:gcache.size``."""
    if variable != _PROVIDER_OPTIONS:
        return {variable: value}
    pieces = (piece.partition("=") for piece in value.split(";"))
    return {f"{variable}:{name.strip()}": setting.strip() for name, equals, setting in pieces if equals}

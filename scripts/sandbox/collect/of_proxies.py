"""PURE: what is asked of proxies and managers. A further piece is a row here."""

from sandbox.collect.piece import BesidePiece, InsidePiece, SqlPiece

_PROXYSQL_ADMIN = "/sandbox/admin.cnf"


def _of_proxysql(name: str, about: str, *columns_and_table: str) -> SqlPiece:
    """Rows of ProxySQL's administration interface."""
    columns, table = columns_and_table if len(columns_and_table) == 2 else ("*", *columns_and_table)
    statement = f"select {columns} from {table}"  # noqa: S608  (names of tables)
    return SqlPiece(
        file=f"{name}.tsv", about=about, kinds=("proxy",), components=("proxysql",),
        account=_PROXYSQL_ADMIN, statements=(statement,),
    )  # fmt: skip


def _of_orchestrator(name: str, about: str) -> BesidePiece:
    """An answer of Orchestrator's interface for programs."""
    return BesidePiece(
        file=f"{name}.json", about=about, components=("orchestrator",),
        script=f"http 3000 /api/{name}",
    )  # fmt: skip


PROXIES = (
    BesidePiece(
        file="stats.csv", about="HAProxy: servers, sessions, checks, by backend (its stats page)",
        kinds=("proxy",), components=("haproxy",), script="runs haproxy; http 8404 '/;csv'",
    ),
    BesidePiece(
        file="checker.txt", about="what the checker beside the proxy says of the servers",
        kinds=("proxy",), script="runs checker.py; http 9200 /ready",
    ),
    _of_proxysql("servers", "ProxySQL: servers at run time", "runtime_mysql_servers"),
    _of_proxysql("servers-configured", "ProxySQL: servers as configured", "mysql_servers"),
    _of_proxysql(
        "replication-hostgroups", "ProxySQL: its hostgroups by read_only",
        "runtime_mysql_replication_hostgroups",
    ),
    _of_proxysql(
        "galera-hostgroups", "ProxySQL: its hostgroups of Galera", "runtime_mysql_galera_hostgroups"
    ),
    _of_proxysql(
        "group-replication-hostgroups", "ProxySQL: its hostgroups of Group Replication",
        "runtime_mysql_group_replication_hostgroups",
    ),
    _of_proxysql("query-rules", "ProxySQL: query rules at run time", "runtime_mysql_query_rules"),
    _of_proxysql(
        "users", "ProxySQL: users at run time, without their passwords",
        "username, active, use_ssl, default_hostgroup, transaction_persistent, fast_forward,"
        " backend, frontend, max_connections", "runtime_mysql_users",
    ),
    _of_proxysql("variables", "ProxySQL: variables at run time", "runtime_global_variables"),
    _of_proxysql("connection-pool", "ProxySQL: its connections", "stats_mysql_connection_pool"),
    _of_proxysql("processlist", "ProxySQL: sessions", "stats_mysql_processlist"),
    _of_proxysql("status", "ProxySQL: counters", "stats_mysql_global"),
    _of_proxysql("errors", "ProxySQL: errors of servers", "stats_mysql_errors"),
    _of_proxysql(
        "digests", "ProxySQL: statements, the 200 most frequent",
        "stats_mysql_query_digest order by count_star desc limit 200",
    ),
    _of_proxysql(
        "connects", "ProxySQL: its monitor's last connections",
        "monitor.mysql_server_connect_log order by time_start_us desc limit 200",
    ),
    _of_proxysql(
        "pings", "ProxySQL: its monitor's last pings",
        "monitor.mysql_server_ping_log order by time_start_us desc limit 200",
    ),
    _of_proxysql(
        "read-only-checks", "ProxySQL: its monitor's last looks at read_only",
        "monitor.mysql_server_read_only_log order by time_start_us desc limit 200",
    ),
    _of_proxysql(
        "galera-checks", "ProxySQL: its monitor's last looks at Galera",
        "monitor.mysql_server_galera_log order by time_start_us desc limit 200",
    ),
    _of_proxysql(
        "group-replication-checks", "ProxySQL: its monitor's last looks at Group Replication",
        "monitor.mysql_server_group_replication_log order by time_start_us desc limit 200",
    ),
    InsidePiece(
        file="maxscale.txt", about="MaxScale: servers, services, monitors, sessions, threads",
        kinds=("proxy",), components=("maxscale",), limit_s=8.0,
        script="for what in 'list servers' 'list services' 'list listeners' 'list sessions'"
        " 'show servers' 'show services' 'show monitors' 'show maxscale' 'show threads'; do"
        ' echo "# maxctrl $what"; timeout 4 maxctrl $what 2>&1; echo; done',
    ),
    _of_orchestrator("clusters-info", "Orchestrator: the clusters that it sees"),
    _of_orchestrator("all-instances", "Orchestrator: the servers as it sees them"),
    _of_orchestrator("replication-analysis", "Orchestrator: what it takes to be wrong"),
    _of_orchestrator("audit-failure-detection", "Orchestrator: failures that it has seen"),
    _of_orchestrator("audit-recovery", "Orchestrator: what it has done"),
)  # fmt: skip
"""Each becomes a file in the folder of the proxy or manager."""

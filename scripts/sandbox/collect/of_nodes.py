"""PURE: what is asked of any node, of its programs and its container. A further piece is a row
here.
"""

from sandbox.collect.piece import SERVER_KINDS, BesidePiece

_CONFIGURATIONS = (
    "/etc/my.cnf", "/etc/my.cnf.d/*.cnf", "/etc/mysql/my.cnf", "/etc/mysql/conf.d/*.cnf",
    "/etc/mysql/mariadb.conf.d/*.cnf", "/etc/percona-xtradb-cluster.conf.d/*.cnf",
    "/var/lib/mysql/mysqld-auto.cnf", "/var/lib/mysql/grastate.dat", "/var/lib/mysql/gvwstate.dat",
    "/sandbox/garbd.options", "/usr/local/etc/haproxy/haproxy.cfg", "/sandbox/checker.json",
    "/etc/proxysql.cnf", "/etc/maxscale.cnf", "/tmp/router/mysqlrouter.conf",  # noqa: S108
    "/tmp/router/data/state.json",  # noqa: S108  (in the container)
    "/sandbox/orchestrator.conf.json", "/sandbox/mha.cnf",
    "/run/mha/*.cnf", "/run/mha/*health", "/etc/prometheus/prometheus.yml",
)  # fmt: skip
"""Of whichever program; those that a node does not have are left out."""
_PROGRAMS = ("database", "replica", "arbitrator", "proxy")
"""Kinds of nodes with a program whose threads are worth a look."""

NODES = (
    BesidePiece(
        file="configuration.txt", about="the configuration files of its program",
        script=f"print_files {' '.join(_CONFIGURATIONS)}",
    ),
    BesidePiece(
        file="processes.txt", about="its processes, with the memory and time that each takes",
        script="processes",
    ),
    BesidePiece(
        file="threads.txt",
        about="the threads of its program: state, what each waits for in the kernel, time taken",
        kinds=_PROGRAMS, script="threads",
    ),
    BesidePiece(
        file="stacks.txt",
        about="the stacks of all threads of its program; names where its package has symbols",
        kinds=_PROGRAMS, script="stacks", limit_s=11.0, is_stacks=True,
    ),
    BesidePiece(
        file="memory-map.txt", about="the memory map of its program: what an address without a"
        " name belongs to",
        kinds=_PROGRAMS, script="memory_map",
    ),
    BesidePiece(
        file="network.txt", about="its addresses, routes and connections",
        script="ip -statistics address; ip route; ss -tanoi",
    ),
    BesidePiece(
        file="limits.txt", about="limits of its program, its control group, mounts, free space",
        script="limits",
    ),
    BesidePiece(
        file="data-directory.txt", about="the files of its data directory",
        kinds=SERVER_KINDS, script='ls -la --time-style=full-iso "$root/var/lib/mysql"',
    ),
    BesidePiece(
        file="own-logs.txt",
        about="the logs that the server writes into files itself, the last 5 MB of each",
        kinds=SERVER_KINDS, script="own_logs",
    ),
    BesidePiece(
        file="pt-mysql-summary.txt", about="pt-mysql-summary", kinds=SERVER_KINDS,
        is_thorough=True, limit_s=10.0, script="mysql_summary",
    ),
    BesidePiece(
        file="pt-stalk.txt", about="what pt-stalk collects of the server in a second, its files"
        " one after the other",
        kinds=SERVER_KINDS, is_thorough=True, limit_s=10.0, script="stalk",
    ),
)  # fmt: skip
"""Each becomes a file in the node's folder."""

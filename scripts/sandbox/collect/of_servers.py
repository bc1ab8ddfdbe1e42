"""PURE: what is asked of database servers. A further piece is a row here."""

from sandbox.collect.piece import SERVER_KINDS, SqlPiece

_THREADS = "performance_schema.threads"
_MDL = "performance_schema.metadata_locks"
_DATA_LOCK_WAITS = f"""
select w.processlist_id waiting, b.processlist_id blocking,
timestampdiff(second, t.trx_wait_started, now()) waiting_s,
l.object_schema, l.object_name, l.index_name, l.lock_type, l.lock_mode wanted, h.lock_mode held,
l.lock_data, t.trx_query waiting_statement, b.processlist_command blocking_command,
b.processlist_time blocking_since_s, b.processlist_info blocking_statement
from performance_schema.data_lock_waits r
join performance_schema.data_locks l on l.engine_lock_id = r.requesting_engine_lock_id
join performance_schema.data_locks h on h.engine_lock_id = r.blocking_engine_lock_id
left join {_THREADS} w on w.thread_id = r.requesting_thread_id
left join {_THREADS} b on b.thread_id = r.blocking_thread_id
left join information_schema.innodb_trx t on t.trx_id = r.requesting_engine_transaction_id
"""  # noqa: S608  (names of tables)
_INNODB_LOCK_WAITS = """
select t.trx_mysql_thread_id waiting, b.trx_mysql_thread_id blocking,
timestampdiff(second, t.trx_wait_started, now()) waiting_s,
l.lock_table, l.lock_index, l.lock_type, l.lock_mode wanted, h.lock_mode held, l.lock_data,
t.trx_query waiting_statement, p.command blocking_command, p.time blocking_since_s,
b.trx_query blocking_statement
from information_schema.innodb_lock_waits w
join information_schema.innodb_trx t on t.trx_id = w.requesting_trx_id
join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id
join information_schema.innodb_locks l on l.lock_id = w.requested_lock_id
left join information_schema.innodb_locks h on h.lock_id = w.blocking_lock_id
left join information_schema.processlist p on p.id = b.trx_mysql_thread_id
"""
_MDL_WAITS = f"""
select w.processlist_id waiting, b.processlist_id blocking, w.processlist_time waiting_s,
p.object_type, p.object_schema, p.object_name, p.lock_type wanted, g.lock_type held,
w.processlist_info waiting_statement, b.processlist_command blocking_command,
b.processlist_time blocking_since_s, b.processlist_info blocking_statement
from {_MDL} p
join {_MDL} g on g.object_type = p.object_type and g.object_schema <=> p.object_schema
and g.object_name <=> p.object_name and g.lock_status = 'GRANTED'
and g.owner_thread_id <> p.owner_thread_id
join {_THREADS} w on w.thread_id = p.owner_thread_id
join {_THREADS} b on b.thread_id = g.owner_thread_id
where p.lock_status = 'PENDING'
"""  # noqa: S608  (names of tables)
_MDL_HELD = f"""
select t.processlist_id connection, m.object_type, m.object_schema, m.object_name, m.lock_type,
m.lock_duration, m.lock_status, t.processlist_command, t.processlist_time, t.processlist_info
from {_MDL} m left join {_THREADS} t on t.thread_id = m.owner_thread_id limit 5000
"""  # noqa: S608  (names of tables)

ALL = SERVER_KINDS
SERVERS = (
    SqlPiece(
        file="version.txt", about="the server's version and name, the time, how long it runs",
        kinds=ALL, layout="vertical",
        statements=(
            "select version(), @@version_comment, @@hostname, @@port, @@server_id, @@datadir,"
            " utc_timestamp(6)",
        ),
    ),
    SqlPiece(
        file="processlist.tsv", about="connections with their statements (SHOW FULL PROCESSLIST)",
        kinds=ALL, statements=("show full processlist",),
    ),
    SqlPiece(
        file="threads.tsv",
        about="performance_schema.threads: which thread of the system serves which connection",
        kinds=ALL, statements=("select * from performance_schema.threads order by thread_id",),
    ),
    SqlPiece(
        file="innodb-status.txt", about="SHOW ENGINE INNODB STATUS", kinds=ALL, layout="text",
        statements=("show engine innodb status",),
    ),
    SqlPiece(
        file="transactions.tsv", about="open transactions (INNODB_TRX)", kinds=ALL,
        statements=("select * from information_schema.innodb_trx order by trx_started",),
    ),
    SqlPiece(
        file="row-lock-waits.tsv", about="row locks: which connection blocks which, since when",
        kinds=ALL, statements=(_DATA_LOCK_WAITS, _INNODB_LOCK_WAITS),
    ),
    SqlPiece(
        file="row-locks.tsv",
        about="row locks that are held (at most 5000); of MariaDB only those that somebody waits"
        " for",
        kinds=ALL,
        statements=(
            "select * from performance_schema.data_locks limit 5000",
            "select * from information_schema.innodb_locks limit 5000",
        ),
    ),
    SqlPiece(
        file="metadata-lock-waits.tsv",
        about="metadata locks: which connection blocks which (MariaDB: with performance_schema=ON)",
        kinds=ALL, statements=(_MDL_WAITS,),
    ),
    SqlPiece(
        file="metadata-locks.tsv",
        about="metadata locks, held and waited for (MariaDB: with performance_schema=ON, or the"
        " plugin metadata_lock_info)",
        kinds=ALL,
        statements=("select * from information_schema.metadata_lock_info", _MDL_HELD),
    ),
    SqlPiece(
        file="open-tables.tsv", about="tables in use (SHOW OPEN TABLES)", kinds=ALL,
        statements=("show open tables where in_use > 0",),
    ),
    SqlPiece(
        file="variables.tsv", about="all variables; passwords are masked by name, too", kinds=ALL,
        layout="pairs", statements=("show global variables",),
    ),
    SqlPiece(
        file="status.tsv", about="all status counters", kinds=ALL, layout="pairs",
        statements=("show global status",),
    ),
    SqlPiece(
        file="plugins.tsv", about="plugins (SHOW PLUGINS)", kinds=ALL, statements=("show plugins",),
    ),
    SqlPiece(
        file="binary-log.txt", about="the position in its binary log", kinds=ALL,
        layout="vertical",
        statements=("show binary log status", "show binlog status", "show master status"),
    ),
    SqlPiece(
        file="binary-logs.tsv", about="its binary logs and their sizes", kinds=ALL,
        statements=("show binary logs",),
    ),
    SqlPiece(
        file="gtid.txt", about="the GTIDs that it has executed and purged", kinds=ALL,
        family="mysql", layout="vertical",
        statements=("select @@gtid_mode, @@global.gtid_executed, @@global.gtid_purged",),
    ),
    SqlPiece(
        file="gtid.txt", about="its GTID positions, and the state of its binary log", kinds=ALL,
        family="mariadb", layout="vertical",
        statements=(
            "select @@gtid_current_pos, @@gtid_binlog_pos, @@gtid_slave_pos, @@gtid_binlog_state,"
            " @@gtid_domain_id",
        ),
    ),
    SqlPiece(
        file="replication.txt", about="replication from its sources, all channels", kinds=ALL,
        family="mysql", layout="vertical",
        statements=("show replica status", "show slave status"),
    ),
    SqlPiece(
        file="replication.txt", about="replication from its sources, all connections", kinds=ALL,
        family="mariadb", layout="vertical",
        statements=("show all replicas status", "show all slaves status"),
    ),
    SqlPiece(
        file="replication-receivers.txt", about="receivers, with their errors", kinds=ALL,
        family="mysql", layout="vertical",
        statements=("select * from performance_schema.replication_connection_status",),
    ),
    SqlPiece(
        file="replication-appliers.txt", about="appliers by worker, with their errors", kinds=ALL,
        family="mysql", layout="vertical",
        statements=("select * from performance_schema.replication_applier_status_by_worker",),
    ),
    SqlPiece(
        file="replicas.tsv", about="the replicas that are connected to it", kinds=ALL,
        statements=("show replicas", "show slave hosts"),
    ),
    SqlPiece(
        file="errors.tsv", about="errors since its start, by code", kinds=ALL, family="mysql",
        statements=(
            "select * from performance_schema.events_errors_summary_global_by_error"
            " where sum_error_raised > 0",
        ),
    ),
    SqlPiece(
        file="memory.tsv", about="memory by what it is for, the 50 largest", kinds=ALL,
        statements=(
            "select event_name, current_count_used, current_number_of_bytes_used,"
            " high_number_of_bytes_used from"
            " performance_schema.memory_summary_global_by_event_name"
            " order by current_number_of_bytes_used desc limit 50",
        ),
    ),
    SqlPiece(
        file="group-members.txt", about="Group Replication: the members that it sees",
        kinds=ALL, topology="gr", layout="vertical",
        statements=("select * from performance_schema.replication_group_members",),
    ),
    SqlPiece(
        file="group-member-stats.txt", about="Group Replication: queues and certification",
        kinds=ALL, topology="gr", layout="vertical",
        statements=("select * from performance_schema.replication_group_member_stats",),
    ),
    SqlPiece(
        file="wsrep-status.tsv", about="Galera: wsrep status", kinds=ALL, topology="galera",
        layout="pairs", statements=("show global status like 'wsrep%'",),
    ),
    SqlPiece(
        file="wsrep-variables.tsv", about="Galera: wsrep variables with the provider's options",
        kinds=ALL, topology="galera", layout="pairs",
        statements=("show global variables like 'wsrep%'",),
    ),
    SqlPiece(
        file="wsrep-members.tsv", about="Galera: the members that it sees", kinds=ALL,
        topology="galera", statements=("select * from mysql.wsrep_cluster_members",),
    ),
)  # fmt: skip
"""Each becomes a file in the server's folder."""

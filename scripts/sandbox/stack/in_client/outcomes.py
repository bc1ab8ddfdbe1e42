"""Runs in the client node beside programs that keep a ledger: what the error of a write proves."""

import pymysql

Code = int | str
ACKED = "acked"
FAILED = "failed"
UNKNOWN = "unknown"
NONE = "-"
LOCK_WAIT = 1205
DEADLOCK = 1213
ROLLED_BACK = frozenset(
    {
        DEADLOCK,  # also a certification conflict in a cluster
        1047,  # Galera: the node is not ready, nothing is executed
        1290,
        1792,
        1836,  # read-only: by option, in a read-only transaction, in read-only mode
        3100,
        3101,  # Group Replication: refused before the commit; rolled back by the plugin
        # No session: too many connections, host blocked or not allowed, limits of a user.
        1040,
        1129,
        1130,
        1203,
        1226,
        1044,
        1045,
        1698,  # no access: to the schema, or at all
        1142,
        1146,
        1049,  # no privilege, no table, no schema
    }
)
"""Errors after which nothing of the statement is there. All others leave that open:
docs/failover.md, the ledger.
"""


def outcome_of(code: Code, decisive: bool, transaction: bool) -> str:
    """``failed`` where an error proves a roll-back, else ``unknown``.

    ``decisive``: the statement, in a transaction its COMMIT, was sent. A lock wait time-out rolls
    back one statement, not its transaction (innodb_rollback_on_timeout is off): a proof under
    autocommit, where the two are the same.
    """
    certain = code in ROLLED_BACK or (code == LOCK_WAIT and not transaction)
    return FAILED if certain or not decisive else UNKNOWN


def code_of(error: BaseException) -> Code:
    """The MySQL error number, ``timeout``, or the name of an error that has no number."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):  # PyMySQL makes it a lost connection
            return "timeout"
        cause = cause.__context__
    number = error.args[0] if isinstance(error, pymysql.MySQLError) and error.args else None
    return number if isinstance(number, int) and number > 0 else type(error).__name__

"""Errors that are expected under contention: the transaction is rolled back, and is no failure of
the load.

Runs in the client node, too, next to a history's program. `engine.lua` has the same codes.
"""

CONFLICTS = (1213, 1205, 1020, 3101, 1180)
"""Deadlock (and every certification or brute-force abort of Galera), lock wait timeout, record
changed since it was read; of Group Replication: certification conflict, deadlock at COMMIT with a
transaction of another member.
"""
_COMMIT_FAILED, _DEADLOCK = 1180, "error 149"


def is_conflict(code: int, message: str) -> bool:
    """Whether an error is one. A COMMIT fails with 1180 for other reasons, too: a deadlock is ``Got
    error 149``.

    sysbench and the servers' own counters go by the code alone.
    """
    return code in CONFLICTS and (code != _COMMIT_FAILED or _DEADLOCK in message)

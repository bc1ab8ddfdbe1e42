"""Runs in the client node: all rows of one server's ledger, as ranges. One line of JSON in, one
out.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pymysql

# Ten packets where a packet for each row would take PyMySQL a second; the count shows whether a
# list was cut off.
PART = (
    "SELECT node, COUNT(*), MAX(id), GROUP_CONCAT(op_id) FROM (SELECT id, node, op_id FROM {table}"
    " WHERE id > %s ORDER BY id LIMIT 20000) AS part GROUP BY node"
)
SESSION = "SET SESSION group_concat_max_len = 1000000"
"""20,000 op ids of 20 digits, each with its comma, take less."""
SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
GTID = {
    "mysql": "SELECT @@global.gtid_executed",
    "mariadb": "SELECT IF(@@global.log_bin, @@global.gtid_binlog_pos, @@global.gtid_current_pos)",
}


def ranges(numbers: Iterable[int]) -> list[str]:
    """Ascending runs of whole numbers, each as ``first-last``: [1, 2, 3, 7] → ["1-3", "7-7"]."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [f"{first}-{last}" for first, last in runs]


def read_rows(cursor: Any, table: str = "ledger") -> dict[str, list[int]]:
    """The op ids of all rows by the node that took them. Raises BufferError for a list that the
    server cut off.
    """
    found: dict[str, list[int]] = {}
    last_id = 0
    part = PART.format(table=table)
    while cursor.execute(part, (last_id,)):
        for node, count, id_, listed in cursor.fetchall():
            ops = [int(op) for op in listed.split(b"," if isinstance(listed, bytes) else ",")]
            if len(ops) != count:
                raise BufferError(f"{len(ops)} op ids of {count}: group_concat_max_len is too low")
            found.setdefault(node, []).extend(ops)
            last_id = max(last_id, id_)
    return found


def read(request: dict[str, Any]) -> dict[str, Any]:
    """The rows of one server, from one snapshot."""
    with (
        pymysql.connect(
            host=request["host"],
            port=request["port"],
            database=request["schema"],
            read_default_file=request["user_file"],
            connect_timeout=request["timeout_s"],
            read_timeout=request["timeout_s"],
            write_timeout=request["timeout_s"],
            autocommit=True,
        ) as connection,
        connection.cursor() as cursor,
    ):
        for statement in (SESSION, SNAPSHOT):
            cursor.execute(statement)
        found = read_rows(cursor, request["table"])
        cursor.execute(GTID[request["family"]])
        ((gtid,),) = cursor.fetchall()
    counts = Counter(op for ops in found.values() for op in ops)
    return {
        "hosts": {node: ranges(ops) for node, ops in found.items()},
        "more_than_once": {str(op): count for op, count in counts.items() if count > 1},
        "gtid": gtid and "".join(gtid.split()),
        "rows": counts.total(),
        "error": None,
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The server's rows, or null with the error's text."""
    try:
        return read(request)
    except (pymysql.MySQLError, OSError, BufferError) as error:
        text = f"{type(error).__name__}{error.args}"
        return {"hosts": {}, "more_than_once": {}, "gtid": None, "rows": None, "error": text}


def main() -> None:
    """One request per line, one answer per line, until the input ends. Source of the separator: RFC
    7464.

    A request: {"host": IP, "port", "schema", "table", "user_file", "family": "mysql" or "mariadb",
    "timeout_s"}.
    """
    for line in sys.stdin:
        print("\x1e" + json.dumps(answer(json.loads(line)), separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()

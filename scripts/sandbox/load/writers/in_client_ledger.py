"""Runs in the client node: the ledger of the workload writers against the rows of every server.

The request is the first argument; one JSON object goes to standard output.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pymysql

Write = tuple[int, int]
"""Writer and op."""
EXAMPLES = 5
STATEMENT_LIMIT_S = 60
SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
SESSION = "SET SESSION group_concat_max_len = 1000000"
"""20,000 ops of 20 digits, each with its comma, take less."""
# A packet for a part: one for each row would take PyMySQL seconds.
PART = (
    "SELECT writer, COUNT(*), MAX(id), GROUP_CONCAT(op) FROM (SELECT id, writer, op FROM `{}`"
    " WHERE id > %s ORDER BY id LIMIT 20000) AS part GROUP BY writer"
)


def read_ledger(lines: Iterable[str]) -> dict[str, set[Write]]:
    """Outcome → writes. A last line that was cut off by the end of the load is no outcome."""
    found: dict[str, set[Write]] = {"acked": set(), "failed": set(), "unknown": set()}
    for line in lines:
        outcome, writer, op = line.split("\t") if line.count("\t") == 2 else ("", "", "")
        if outcome in found and op.endswith("\n"):
            found[outcome].add((int(writer), int(op)))
    return found


def compared(ledger: Mapping[str, set[Write]], rows: Counter[Write]) -> dict[str, Any]:
    """What a server has of the ledger: how many are lost, phantom and duplicate, and the first of
    them.
    """
    present = rows.keys()
    found = {
        "lost": ledger["acked"] - present,
        "phantom": ledger["failed"] & present,
        "duplicate": {write for write, count in rows.items() if count > 1},
    }
    return {
        "rows": rows.total(),
        **{
            name: {"count": len(writes), "examples": sorted(writes)[:EXAMPLES]}
            for name, writes in found.items()
        },
    }


def read_rows(cursor: Any, table: str) -> Counter[Write]:
    """How often each write is in a table. Raises BufferError for a list that the server cut off."""
    found: Counter[Write] = Counter()
    last_id = 0
    while cursor.execute(PART.format(table), (last_id,)):
        for writer, count, id_, listed in cursor.fetchall():
            ops = [int(op) for op in listed.split(b"," if isinstance(listed, bytes) else ",")]
            if len(ops) != count:
                raise BufferError(f"{len(ops)} ops of {count}: group_concat_max_len is too low")
            found.update((writer, op) for op in ops)
            last_id = max(last_id, id_)
    return found


def read_server(server: Mapping[str, Any], schema: str, tables: Sequence[str]) -> Counter[Write]:
    """Every write that it has, from one snapshot."""
    rows: Counter[Write] = Counter()
    with (
        pymysql.connect(
            host=server["host"],
            port=server["port"],
            database=schema,
            read_default_file=server["credentials"],
            connect_timeout=10,
            read_timeout=STATEMENT_LIMIT_S,
            write_timeout=STATEMENT_LIMIT_S,
            autocommit=True,
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(SESSION)
        cursor.execute(SNAPSHOT)
        for table in tables:
            rows += read_rows(cursor, table)
    return rows


def answer(
    server: Mapping[str, Any], request: Mapping[str, Any], ledger: Mapping[str, set[Write]]
) -> dict[str, Any]:
    """One server against the ledger, or the error's text."""
    try:
        rows = read_server(server, request["schema"], request["tables"])
    except (pymysql.MySQLError, OSError, BufferError) as error:
        return {"error": f"{type(error).__name__}{error.args}"}
    return {"error": None, **compared(ledger, rows)}


def main(request: Mapping[str, Any]) -> None:
    """Prints the numbers of the ledger, and what each server has of it."""
    ledger: dict[str, set[Write]] = read_ledger(())
    for path in sorted(Path(request["ledger"]).glob("*.tsv")):
        with path.open(encoding="ascii") as lines:
            for outcome, writes in read_ledger(lines).items():
                ledger[outcome] |= writes
    servers = request["servers"]
    with ThreadPoolExecutor(max_workers=max(1, len(servers))) as pool:
        found = list(pool.map(lambda server: answer(server, request, ledger), servers))
    counts = {outcome: len(writes) for outcome, writes in ledger.items()}
    by_name = {server["name"]: each for server, each in zip(servers, found, strict=True)}
    print(json.dumps({**counts, "servers": by_name}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""Runs in the client node: executes statements on several servers at once. One line of JSON in, one
out.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pymysql


def readable(value: Any) -> Any:
    """A cell as a JSON value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def ask(
    target: dict[str, Any], statements: list[tuple[str, list[Any] | None]], timeout_s: float
) -> dict[str, Any]:
    """Answers of one server up to its first failure."""
    results: list[list[list[Any]]] = []
    try:
        connection = pymysql.connect(
            host=target["host"],
            port=target["port"],
            database=target["schema"],
            read_default_file=f"/sandbox/{target['account']}.cnf",
            connect_timeout=max(1, int(timeout_s)),
            read_timeout=timeout_s,
            write_timeout=timeout_s,
            autocommit=True,
        )
        with connection, connection.cursor() as cursor:
            for statement, values in statements:
                cursor.execute(statement, values)
                results.append([[readable(cell) for cell in row] for row in cursor.fetchall()])
    except (pymysql.MySQLError, OSError) as error:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else None
        return {
            "results": results,
            "error": f"{type(error).__name__}{error.args}",
            "error_code": code,
        }
    return {"results": results, "error": None, "error_code": None}


def answers(request: dict[str, Any]) -> dict[str, Any]:
    """All targets asked at once; answers by target name."""
    targets = request["targets"]
    with ThreadPoolExecutor(max_workers=max(1, len(targets))) as pool:
        found = pool.map(
            lambda target: ask(target, request["statements"], request["timeout_s"]), targets
        )
        return {target["name"]: answer for target, answer in zip(targets, found, strict=True)}


def main() -> None:
    """One request per line, one answer per line, until the input ends. Source of the separator: RFC
    7464.
    """
    for line in sys.stdin:
        print("\x1e" + json.dumps(answers(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

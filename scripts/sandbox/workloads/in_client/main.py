"""Runs in the client node: `main load` or `main prepare`, with the request as JSON; prints JSON lines."""

import importlib
import json
import sys
from typing import Any

import pymysql

from sandbox.workloads.in_client.connection import code_of, read_target
from sandbox.workloads.in_client.engine import run_load


def emit(line: dict[str, Any]) -> None:
    """Prints one line immediately."""
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Loads or prepares; returns the exit code."""
    step, request = arguments[0], json.loads(arguments[1])
    module = importlib.import_module(f"sandbox.workloads.in_client.{request['scenario']}")
    target = read_target(request)
    if step == "load":
        return run_load(request, target, module.make, emit)
    try:
        module.prepare(target, request["options"], lambda text: emit({"progress": text}))
    except pymysql.MySQLError as error:
        emit({"error": str(code_of(error) or "unknown"), "message": f"{type(error).__name__}{error.args}"})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

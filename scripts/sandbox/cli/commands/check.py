"""check: compares the rows of every table, and what stands behind GTIDs, on all servers."""

from typing import Annotated

import typer

from sandbox.cli.common.options import Json, Name
from sandbox.cli.common.running import read_stack
from sandbox.cli.common.showing import show_document
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.consistency.logs import MEGABYTES
from sandbox.consistency.oracle import compare_stack
from sandbox.consistency.rows import WAIT_S
from sandbox.consistency.verdict import checks_of
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.record.consistency import ConsistencyRecord
from sandbox.report.consistency import consistency_document
from sandbox.stack.protocol import Note

ABOUT = About(group="stacks", after="heal")


def command(
    name: Name = None,
    only: Annotated[
        str | None, typer.Option(help="Schemas and tables: sbtest,shop.orders (all).")
    ] = None,
    log_mb: Annotated[
        int,
        typer.Option(min=0, max=100_000, help="MB read of the end of each binary log; 0: none."),
    ] = MEGABYTES,
    within: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds to come to one position.")
    ] = WAIT_S,
    json: Json = False,
) -> int:
    """Compare rows and GTIDs of all servers; name what differs and who wrote it."""
    tables = [word.strip() for word in (only or "").split(",") if word.strip()]
    with ProgressDisplay("check") as progress, read_stack(name, progress) as stack:
        progress(Note("comparing every table on all servers, in one position"))
        client = next(node.name for node in stack.nodes() if node.kind == "client")
        found = compare_stack(stack, client, tables, within, log_mb)
    if not found:
        raise SandboxError(
            f"there is nothing to compare in the stack '{stack.name}'",
            "it has no two servers that hold the same data",
            "try: make up PROFILE=galera3",
        )
    _refuse_unknown(tables, found)
    data = {"stack": stack.name, "sets": [each.model_dump() for each in found]}
    show_document(json, data, consistency_document(stack.name, found))
    return int(_exit_code(found))


def _refuse_unknown(tables: list[str], found: list[ConsistencyRecord]) -> None:
    """Raises SandboxError (exit 2) where the words name no table: none would differ."""
    compared = [each for each in found if each.problem is None]
    if tables and compared and not any(each.tables for each in compared):
        raise SandboxError(
            f"no server has a table of {', '.join(tables)}",
            "ONLY names schemas, or tables as schema.table",
            "try: make check",
        )


def _exit_code(found: list[ConsistencyRecord]) -> ExitCode:
    """1: something differs; 3: not everything could be compared."""
    verdicts = {check.verdict for check in checks_of(found)}
    if "fail" in verdicts:
        return ExitCode.FAILED
    return ExitCode.UNKNOWN if "unknown" in verdicts else ExitCode.OK

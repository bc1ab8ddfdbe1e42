"""sql: a SQL client on a node or the entry point, or statements on every server."""

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from sandbox.cli.common.options import Name, Node, Via
from sandbox.cli.common.running import quiet_stack, read_stack
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.stack.protocol import OnEvent
from sandbox.stack.sql_client import LAYOUTS, Layout, SqlOptions, only_reads, sql, sql_on_all
from sandbox.stack.stack import Stack

ABOUT = About(group="stacks", after="ps")


def command(
    name: Name = None,
    node: Node = None,
    via: Via = None,
    execute: Annotated[
        str | None, typer.Option("--execute", "-e", help="Statements to run, not a client.")
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Run on every server, one after the other.")
    ] = False,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Account (root; through a proxy sbtest).")
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="table, tab, csv or json.")
    ] = None,
    vertical: Annotated[bool, typer.Option("--vertical", "-E", help="A line per column.")] = False,
    skip_column_names: Annotated[
        bool, typer.Option("--skip-column-names", "-N", help="Values only.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Go on after an error.")] = False,
    binary_mode: Annotated[
        bool, typer.Option("--binary-mode", help="Keep CR and NUL of piped statements.")
    ] = False,
) -> int:
    """Open a SQL client on a node or the entry point; reads statements from a pipe."""
    if all_ and not execute:
        raise SandboxError(
            "--all needs statements",
            "they run on every server",
            "try: sandbox sql --all -e 'select 1'",
        )
    options = SqlOptions(
        user=user,
        layout=_layout(format_, vertical=vertical, force=force),
        vertical=vertical,
        names=not skip_column_names,
        force=force,
        binary_mode=binary_mode,
    )
    with ProgressDisplay("sql") as progress, _stack_for(name, execute, progress) as stack:
        if all_ and execute:
            return sql_on_all(stack, execute, options)
        return sql(stack, node or via, progress, execute, options)


def _stack_for(
    name: str | None, statements: str | None, progress: OnEvent
) -> AbstractContextManager[Stack]:
    """The stack; a snapshot that is being taken of it is dropped unless the statements only
    read.
    """
    if only_reads(statements):
        return read_stack(name, progress)
    return nullcontext(quiet_stack(name, progress))


def _layout(given: str | None, *, vertical: bool, force: bool) -> Layout | None:
    """A layout by its name. Raises SandboxError (exit 2) for an unknown one, or with an option that
    excludes it.
    """
    if given is None:
        return None
    if given not in LAYOUTS:
        raise SandboxError(
            f"FORMAT={given} is no layout",
            did_you_mean(given, LAYOUTS),
            "try: make sql FORMAT=json",
        )
    if given in ("csv", "json") and vertical:
        what = f"FORMAT={given} and VERTICAL=1 exclude each other"
        raise SandboxError(
            what, "VERTICAL=1 is a layout for people", "try: make sql VERTICAL=1 EXECUTE='select 1'"
        )
    if given in ("csv", "json") and force:
        what = f"FORMAT={given} and FORCE=1 exclude each other"
        known = "there the server runs all statements as one text, and ends it at the first error"
        raise SandboxError(what, known, "try: make sql FORCE=1 EXECUTE='select 1'")
    return given

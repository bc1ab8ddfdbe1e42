"""SQL in a running stack: the client node's command-line client, statements on every server, the
file of `INIT=`.
"""

import json
import os
import re
import sys
from dataclasses import dataclass
from getpass import getpass
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.stack.entry import Login, client_argv, login
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import EntryPoint, Note, OnEvent, ServerRole
from sandbox.stack.stack import Stack, hand_over_piped

if TYPE_CHECKING:  # Pydantic's models: a `sql` starts without them
    from sandbox.profile.plan import UserFile

Layout = Literal["table", "tab", "csv", "json"]
LAYOUTS: tuple[Layout, ...] = ("table", "tab", "csv", "json")

_WITH_HOST = ("sh", "-c", 'IFS= read -r host && exec "$@" -h "$host"', "sh")
"""Starts the client that follows for the host in the first line of the input; the client reads the
rest.
"""
_TYPED_ROWS = files(__package__).joinpath("in_client", "typed_rows.py").read_text(encoding="utf-8")
_INIT_MARK = "/sandbox/init"
_INIT_LIMIT_S = 3600.0

_READS = re.compile(r"\s*(select|show|desc|describe)\b[^;\\#]*;?\s*", re.IGNORECASE)
_CALL = re.compile(r"([\w.`]+)\s*\(")
_HARMLESS_CALLS = frozenset(
    {
        "avg",
        "cast",
        "char_length",
        "coalesce",
        "concat",
        "concat_ws",
        "connection_id",
        "convert",
        "count",
        "current_user",
        "database",
        "exists",
        "format",
        "group_concat",
        "hex",
        "if",
        "ifnull",
        "in",
        "length",
        "lower",
        "max",
        "min",
        "now",
        "round",
        "select",
        "sleep",
        "sum",
        "upper",
        "user",
        "version",
    }
)
"""Calls that leave a server as it is; some do not: `select group_replication_set_as_primary(…)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlOptions:
    """The user who runs statements, and the look of results. ``layout`` None: a table on a
    terminal, else tab-separated.
    """

    user: str | None = None
    layout: Layout | None = None
    vertical: bool = False
    names: bool = True
    """Whether results begin with the names of their columns."""
    force: bool = False
    """Whether the statements after one that failed run too."""
    binary_mode: bool = False
    """Whether carriage returns and NUL bytes are data, and ``\\G`` and other commands of the client
    are not known.
    """

    @property
    def is_typed(self) -> bool:
        """Whether values keep their types and NULL, which the client's own layouts do not."""
        return self.layout in ("csv", "json")


def only_reads(statements: str | None) -> bool:
    """Whether this is one statement that certainly changes nothing; of what is typed or piped
    nothing is known yet.
    """
    if not statements or not _READS.fullmatch(statements):
        return False
    if re.search(r"/\*|\binto\b", statements, re.IGNORECASE):
        return False
    calls = {name.lower() for name in _CALL.findall(statements)}
    return calls <= _HARMLESS_CALLS


def sql(
    stack: Stack,
    via: str | None,
    on_event: OnEvent,
    statements: str | None = None,
    options: SqlOptions | None = None,
) -> int:
    """An interactive client (its history stays in the client node), or one that reads SQL from our
    input.

    ``statements``: SQL to run instead. ``via`` is what `VIA=` takes: a node, a proxy's port,
    writer, reader; None: the entry point. Output comes as the server sends it. Returns the client's
    exit code: 1 where a statement failed. Raises SandboxError (exit 2) for an unknown node.
    """
    wanted = options or SqlOptions()
    if statements is not None and not wanted.is_typed and (server := _any_of_several(stack, via)):
        return _run_by_role(stack, via, server, wanted, os.fsencode(statements) + b"\n")
    entry = stack.entry_point(via, _roles_without_asking(stack))
    account = login(stack.members, entry, wanted.user)
    interactive = statements is None and sys.stdin.isatty() and sys.stdout.isatty()
    if interactive:
        where = f"{entry.via} of the stack '{stack.name}' ({entry.host}:{entry.port})"
        on_event(Note(f"{where}, as {account.user}"))
    elif account.user != "root" and not wanted.user:
        on_event(Note(f"as {account.user}, through {entry.node}{_as_root(stack, entry)}"))
    _ask_password(account)
    if interactive:
        _refuse_typed(wanted)
        argv = [*_session(stack, entry, account, wanted), "--binary-as-hex"]
        return stack.docker.hand_over("exec", "-it", *_passed_on(account), stack.client.id, *argv)
    return _run(stack, entry, account, wanted, statements)


def _roles_without_asking(stack: Stack) -> dict[str, ServerRole | None] | None:
    """The role of a stack's only server, which is always meant; None: several have to be asked."""
    servers = [each.node for each in stack.members if each.is_server]
    return {servers[0]: "writer"} if len(servers) == 1 else None


def _any_of_several(stack: Stack, via: str | None) -> EntryPoint | None:
    """One of the servers among which their roles decide, and nothing else; None where nobody has to
    be asked.
    """
    servers = [each.node for each in stack.members if each.is_server]
    has_proxy = any(each.kind == "proxy" for each in stack.members)
    by_role = via in ("writer", "reader") or (via is None and not has_proxy)
    if not by_role or len(servers) < 2 or stack.entries.externals():
        return None
    return stack.entry_point(servers[0])


def _run_by_role(
    stack: Stack, via: str | None, server: EntryPoint, options: SqlOptions, statements: bytes
) -> int:
    """Runs statements where a role leads; the client starts while the servers are asked, for each
    takes 0.1 s.

    ``server``: any of those that may have the role. They have the same port and accounts.
    """
    account = login(stack.members, server, options.user)
    _ask_password(account)
    argv = [*_WITH_HOST, *_client(stack, server, account, options, statements)]

    def host_and_statements() -> bytes:
        return stack.entry_point(via).host.encode() + b"\n" + statements

    return hand_over_piped(
        stack.docker, stack.client.id, argv, host_and_statements, _passed_on(account)
    )


def sql_on_all(stack: Stack, statements: str, options: SqlOptions | None = None) -> int:
    """Runs statements on every server, each under its name; returns the first exit code that is not
    0.
    """
    wanted = options or SqlOptions()
    codes = []
    for server in [each.node for each in stack.members if each.is_server]:
        entry = stack.entry_point(server)
        account = login(stack.members, entry, wanted.user)
        if not wanted.is_typed:
            print(f"-- {server}", flush=True)
        _ask_password(account)
        codes.append(_run(stack, entry, account, wanted, statements, named=server))
    return next((code for code in codes if code), 0)


def _as_root(stack: Stack, entry: EntryPoint) -> str:
    if entry.via == "external":
        return ""
    server = next((each.node for each in stack.members if each.is_server), None)
    return f" (as root: make sql{name_option(stack.name)} NODE={server})" if server else ""


def _ask_password(account: Login) -> None:
    """Asks for the password of an account of the user's own, on a terminal; MYSQL_PWD is the
    client's own variable.
    """
    if account.file is None and "MYSQL_PWD" not in os.environ and sys.stdin.isatty():
        os.environ["MYSQL_PWD"] = getpass(f"password of {account.user}: ")


def _passed_on(account: Login) -> tuple[str, ...]:
    """Docker's options that hand the client a password of the user's own, in no command line."""
    return ("--env", "MYSQL_PWD") if account.file is None and "MYSQL_PWD" in os.environ else ()


def _refuse_typed(options: SqlOptions) -> None:
    if options.is_typed:
        what = f"FORMAT={options.layout} needs statements"
        raise SandboxError(
            what,
            "a client on a terminal prints tables",
            "try: make sql EXECUTE='select 1' FORMAT=json",
        )


def _session(stack: Stack, entry: EntryPoint, account: Login, options: SqlOptions) -> list[str]:
    """The client and the options that hold in a session on a terminal too."""
    argv = client_argv(stack.client, entry, account)
    if options.vertical:
        argv.append("--vertical")
    if not options.names:
        argv.append("--skip-column-names")
    if options.force:
        argv.append("--force")
    return argv


def _run(
    stack: Stack,
    entry: EntryPoint,
    account: Login,
    options: SqlOptions,
    statements: str | None,
    named: str = "",
) -> int:
    """Runs statements (None: those of our input); ``named``: the server whose name begins every
    typed row.

    They go through the client's input, byte by byte: a command line of the engine's holds valid
    UTF-8 alone.
    """
    feed = None if statements is None else os.fsencode(statements) + b"\n"
    typed = _typed(entry, account, options, named) if options.is_typed else None
    argv = typed or _client(stack, entry, account, options, feed)
    return hand_over_piped(stack.docker, stack.client.id, argv, feed, _passed_on(account))


def _client(
    stack: Stack, entry: EntryPoint, account: Login, options: SqlOptions, statements: bytes | None
) -> list[str]:
    """The client for statements, not for a terminal."""
    argv = [*_session(stack, entry, account, options), *_layout(options)]
    has_such_bytes = statements is not None and needs_binary_mode(statements)
    if options.binary_mode or has_such_bytes:
        argv.append("--binary-mode")
    return argv


def needs_binary_mode(content: bytes) -> bool:
    """Whether the client would change or refuse a text: by itself it drops carriage returns and
    ends at a NUL.
    """
    return b"\r" in content or b"\0" in content


def _layout(options: SqlOptions) -> list[str]:
    """The client's own options. A table needs all its rows to know its widths; anything else comes
    row by row.
    """
    layout = options.layout or ("table" if sys.stdout.isatty() else "tab")
    is_table = layout == "table"
    if options.vertical:
        vertical = ["--unbuffered", "--quick"]
        return [*vertical, "--binary-as-hex"] if is_table else vertical
    if is_table:
        return ["--unbuffered", "--table", "--binary-as-hex"]
    return ["--unbuffered", "--batch", "--quick"]


def _typed(entry: EntryPoint, account: Login, options: SqlOptions, named: str) -> list[str]:
    request = {
        "host": entry.host, "port": entry.port, "file": account.file, "user": account.user,
        "layout": options.layout, "names": options.names, "server": named,
    }  # fmt: skip
    return ["python3", "-c", _TYPED_ROWS, json.dumps(request)]


def run_init(stack: Stack, init: "UserFile | None", on_event: OnEvent) -> None:
    """Runs the file as root on a writer of every group where it has not run yet.

    The client's container records it, and is removed with the data. Raises SandboxError: exit 1
    where a server rejects a statement, exit 4 where an earlier run was interrupted.
    """
    if init is None:
        return
    state = stack.run(
        stack.client.node, ["sh", "-c", f"cat {_INIT_MARK} 2>/dev/null || true"]
    ).stdout.strip()
    if state == "done":
        return
    option = name_option(stack.name)
    if state == "begun":
        raise MachineError(
            f"INIT={init.name} was started by an earlier command and did not finish",
            "the data may contain part of it; it is not run twice",
            f"try: make down{option}   (then make up again)",
        )
    _set_init_state(stack, "begun")
    binary = ["--binary-mode"] if needs_binary_mode(init.raw) else []
    for entry in stack.entries.writers():
        on_event(Note(f"running {init.name} on {entry.node}"))
        account = login(stack.members, entry)
        argv = [*client_argv(stack.client, entry, account), *binary]
        result = stack.run(stack.client.node, argv, stdin=init.content, timeout_s=_INIT_LIMIT_S)
        if result.code:
            raise SandboxError(
                f"INIT={init.name} failed on {entry.node}",
                result.last_error,
                f"try: make down{option}   (then fix the file and make up again)",
                ExitCode.FAILED,
            )
    _set_init_state(stack, "done")


def _set_init_state(stack: Stack, state: str) -> None:
    stack.run(stack.client.node, ["sh", "-c", f"echo {state} >{_INIT_MARK}"])

"""Options of several commands."""

from typing import Annotated, Any

import typer

from sandbox.cli.common import completion
from sandbox.core.errors import SandboxError

EXAMPLES = ("mysql@9.7+replica2", "galera3+haproxy", "gr3@9.7+router")


def place(metavar: str, text: str, proposals: completion.Proposals | None = None) -> Any:
    """An optional positional argument."""
    return typer.Argument(metavar=metavar, show_default=False, help=text, autocompletion=proposals)


def chosen(text: str, proposals: completion.Proposals) -> Any:
    """An option that a shell completes."""
    return typer.Option(help=text, autocompletion=proposals)


def _name(text: str) -> Any:
    return typer.Option("--name", "-n", autocompletion=completion.stack, help=text)


Expression = Annotated[
    str | None, place("PROFILE", "Profile expression, such as galera3+haproxy.", completion.profile)
]
Profile = Annotated[str | None, chosen("Profile expression.", completion.profile)]
Name = Annotated[str | None, _name("Name of the stack (the only one, else 'default').")]
NameOfUp = Annotated[str | None, _name("Name of the stack ('default').")]
NameOfPs = Annotated[str | None, _name("Name of the stack (all of them).")]
Node = Annotated[str | None, chosen("Node, such as galera1.", completion.node)]
SetValue = Annotated[
    list[str] | None,
    typer.Option("--set", help="Server variables: \"a=1 replica:b='x y' galera2:c=3\"."),
]
Cnf = Annotated[
    str | None,
    typer.Option(
        help="Configuration files: my.cnf (every server), galera2:my.cnf, haproxy:my.cfg (added),"
        " haproxy!my.cfg (instead)."
    ),
]
Init = Annotated[
    str | None, typer.Option(help="SQL file (.sql, .sql.gz) run once on the writer when ready.")
]
Cpus = Annotated[
    str | None, typer.Option(help="CPUs per database node, or by node: 0.5, '1 galera2:0.5'.")
]
Memory = Annotated[
    str | None, typer.Option(help="Memory per database node, or by node: 1g, '1g replica1:512m'.")
]
Disk = Annotated[
    str | None,
    typer.Option(help="A disk for each data directory: ext4:4g, 'ext4:4g replica1:xfs:8g'."),
]
Replicate = Annotated[
    list[str] | None,
    typer.Option(help="Replication between groups: 'mysql1>galera1:channel=b,delay=30s'."),
]
Image = Annotated[
    list[str] | None,
    typer.Option("--image", help='Own images: "mariadb=my/build:1 proxysql1=…".'),
]
Binary = Annotated[
    list[str] | None,
    typer.Option("--binary", help='Servers of your own build: "mysql=server.tar.xz", or a folder.'),
]
External = Annotated[
    str | None, typer.Option(help="mysql://user@host:3306/db for the term 'external'.")
]
Via = Annotated[
    str | None, chosen("Node, term, node:port, writer, reader or members.", completion.entry)
]
ReproByPlace = Annotated[
    str | None, place("REPRO", "Repro, a path, or - for standard input.", completion.repro)
]
Repro = Annotated[str | None, chosen("Repro, a path, or - for standard input.", completion.repro)]
ProfileOfRepro = Annotated[str | None, chosen("Profile instead of the file's.", completion.profile)]
SetOfRepro = Annotated[
    list[str] | None, typer.Option("--set", help="Server variables beside the file's.")
]
NewRepro = Annotated[bool, typer.Option("--new", help="Start from scratch instead of resuming.")]
Timeout = Annotated[int | None, typer.Option(min=1, help="Seconds to wait for readiness.")]
KeepLogs = Annotated[
    bool, typer.Option("--keep-logs", help="Save the logs of every node in results/ first.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def either(typed: str | None, option: str | None, variable: str) -> str | None:
    """The positional argument or its option. Raises SandboxError (exit 2) if both are given and
    differ.
    """
    if typed and option and typed != option:
        what = f"'{typed}' and {variable}={option} contradict each other"
        raise SandboxError(what, "one of them is enough", "try: sandbox help")
    return typed or option


def need_profile(profile: str | None) -> str:
    """The profile. Raises SandboxError (exit 2) with three examples if none was given."""
    if profile:
        return profile
    step = f"try: make up PROFILE={EXAMPLES[1]}   (make profiles lists every term)"
    raise SandboxError("no PROFILE was given", f"examples: {', '.join(EXAMPLES)}", step)

"""The accounts with which SQL is sent from the client node, and the command line of its client."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.stack.inventory import Container
from sandbox.stack.protocol import EntryPoint

ROOT_CNF = "/sandbox/root.cnf"
APP_CNF = "/sandbox/app.cnf"
_NEUTRAL = ("--no-defaults", "--default-character-set=utf8mb4", "--skip-ssl-verify-server-cert")
"""What those files say, without their user."""


@dataclass(frozen=True, slots=True)
class Login:
    """The account for an entry point. ``file``: the option file that has its password; None: the
    user gives it.
    """

    user: str
    file: str | None

    @property
    def client_options(self) -> list[str]:
        """As options of the command-line client, credentials first."""
        return [f"--defaults-file={self.file}"] if self.file else [*_NEUTRAL, f"--user={self.user}"]


def login(nodes: Sequence[Container], entry: EntryPoint, user: str | None = None) -> Login:
    """The account of a user at an entry point; None: root on a server, the application's user
    elsewhere.

    A proxy may know no other: ProxySQL and MaxScale have their own lists of users.
    """
    is_server = any(each.node == entry.node and each.is_server for each in nodes)
    wanted = user or ("root" if is_server else entry.user)
    if entry.via == "external":
        return Login(wanted, APP_CNF if wanted == entry.user else None)
    return Login(wanted, {"root": ROOT_CNF, entry.user: APP_CNF}.get(wanted))


def client_argv(client: Container, entry: EntryPoint, account: Login) -> list[str]:
    """The command line of the client node's client at an entry point."""
    program = client.about["sql_client"]
    return [program, *account.client_options, "-h", entry.host, "-P", str(entry.port)]

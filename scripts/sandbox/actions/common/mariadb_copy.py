"""A copy of another MariaDB server's data: its dump, loaded instead of the own data, and the position that it is of."""

from importlib.resources import files

from sandbox.actions.common.model import ActionRefusedError, Operation
from sandbox.actions.common.replication import Replica, replication_password
from sandbox.stack.protocol import StackNode

_SCRIPT = files(__package__).joinpath("mariadb_copy.sh").read_text(encoding="utf-8")
_COPY_S = 900.0


def copy_data(operation: Operation, donor: StackNode, recipient: StackNode) -> None:
    """Replaces all data of a server by the donor's, accounts included; then it follows the donor.

    MariaDB has no clone plugin, and its binary logs may not reach back to the beginning.
    Source: MariaDB's documentation, "Setting Up a Replica with mariadb-dump".

    Raises ActionRefusedError where the dump or its load fails; TimeoutError past 15 minutes.
    """
    argv = ["bash", "-c", _SCRIPT, "bash", donor.host, str(donor.port)]
    answer = operation.stack.run(recipient.name, argv, timeout_s=_COPY_S)
    if answer.code:
        raise ActionRefusedError(f"{recipient.name} has no copy of {donor.name}'s data", answer.last_error)
    Replica(operation, recipient).follow(donor, replication_password(operation), answer.stdout.strip())

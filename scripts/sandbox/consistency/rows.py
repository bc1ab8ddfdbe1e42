"""Compares the rows of every table on the servers of a set, by a program in the client node."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from sandbox.consistency import in_client
from sandbox.consistency.sets import ServerSet
from sandbox.record.consistency import ConsistencyRecord
from sandbox.stack.client_python import answer_of, folder_of, ship, targets_of
from sandbox.stack.protocol import RunningStack

MODULE = "compare_rows"
CHUNK = 20_000
"""Rows that are summed up at once: a difference is looked for in so many."""
MOST = 20
"""Differences that are reported with their rows."""
WAIT_S = 10.0
"""How long servers have to come to one position."""
LIMIT_S = 1800.0


def compare_rows(
    stack: RunningStack,
    client: str,
    servers: ServerSet,
    tables: Sequence[str] = (),
    wait_s: float = WAIT_S,
) -> ConsistencyRecord:
    """What differs between the servers of a set. ``tables``: ``schema`` or ``schema.table``; none:
    all; ``wait_s``: for one position.

    Raises MachineError where the client node fails, TimeoutError after half an hour.
    """
    record = ConsistencyRecord(reference=servers.reference, unread=dict(servers.out))
    if not servers.writers:
        return record.model_copy(update={"problem": "no server of this group takes writes"})
    request = _request(servers, tables, wait_s)
    contents = _program()
    ship(stack, client, contents)
    argv = ["python3", f"{folder_of(contents)}/{MODULE}.py"]
    answered = stack.run(client, argv, json.dumps(request), LIMIT_S)
    found: Mapping[str, Any] = answer_of(answered, client, MODULE)
    unread = {**servers.out, **found["unread"]}
    return ConsistencyRecord.model_validate(
        {**found, "reference": servers.reference, "unread": unread}
    )


def _program() -> dict[str, str]:
    """The modules of the program, which import each other and are shipped together: name → text."""
    shipped = files(in_client).iterdir()
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in shipped
        if file.name.startswith("compare_") and file.name.endswith(".py")
    }


def _request(servers: ServerSet, tables: Sequence[str], wait_s: float) -> dict[str, Any]:
    by_name = {server.name: server for server in servers.servers}
    return {
        "servers": [
            {
                **target.login,
                "family": by_name[target.name].family or "mysql",
                "topology": by_name[target.name].topology or "single",
            }
            for target in targets_of(servers.servers)
        ],
        "held": list(servers.writers),
        "wait_s": wait_s,
        "chunk": CHUNK,
        "most": MOST,
        "tables": list(tables),
    }

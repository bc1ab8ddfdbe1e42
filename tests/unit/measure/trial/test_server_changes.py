"""What observers see of a group becomes a line for each change, and only for a change."""

from typing import Any

import pytest

from sandbox.measure.trial.watch import ObservedServer, ServerChanges

CLUSTER = [ObservedServer(f"galera{number}", "galera", 3, 1) for number in (1, 2, 3)]
PAIR = [ObservedServer("mysql1", "single", 1, 1), ObservedServer("replica1", "single", 1, 1)]


def galera(size: int, number: int, view: str, read_only: int = 0) -> dict[str, Any]:
    return {
        "read_only": read_only,
        "status": {
            "wsrep_cluster_size": str(size),
            "wsrep_cluster_status": "Primary" if size else "Disconnected",
            "wsrep_local_state": str(number),
            "wsrep_incoming_addresses": view,
            "wsrep_ready": "ON",
        },
    }


def channel(**changed: str) -> dict[str, Any]:
    row = {
        "Source_Host": "mysql1",
        "Replica_IO_Running": "Yes",
        "Replica_SQL_Running": "Yes",
        "Last_IO_Errno": "0",
    }
    return {"read_only": 1, "channels": [row | changed]}


def texts(changes: ServerChanges, node: str, seen: dict[str, Any]) -> list[str]:
    return [" ".join(each.text.split()) for each in changes.take(node, seen)]


def test_an_eviction_is_a_change_of_every_member() -> None:
    changes = ServerChanges(CLUSTER)
    every = "galera1:0,galera2:0,galera3:0"
    for each in CLUSTER:
        assert texts(changes, each.node, galera(3, 4, every)) == [
            f"{each.node} writer synced sees galera1, galera2, galera3"
        ]
        assert texts(changes, each.node, galera(3, 4, every)) == []
    assert texts(changes, "galera1", galera(0, 5, "")) == ["galera1 - evicted its data differs"]
    for node in ("galera2", "galera3"):
        assert texts(changes, node, galera(2, 4, "galera2:0,galera3:0")) == [
            f"{node} writer 2 of 3 members sees galera2, galera3"
        ]


def test_each_failed_attempt_to_connect_is_no_change() -> None:
    changes = ServerChanges(PAIR)
    assert texts(changes, "replica1", channel()) == ["replica1 reader replicating from mysql1"]
    failed = {"Replica_IO_Running": "Connecting", "Last_IO_Errno": "2003"}
    assert texts(changes, "replica1", channel(**failed, Last_IO_Error="attempt 1")) == [
        "replica1 reader connecting to mysql1, error 2003: attempt 1"
    ]
    assert texts(changes, "replica1", channel(**failed, Last_IO_Error="attempt 2")) == []
    assert texts(changes, "mysql1", {"error": "2003: refused"}) == [
        "mysql1 - no answer 2003: refused"
    ]
    assert texts(changes, "mysql1", {"error": "timeout: timed out"}) == []


def test_what_the_engine_says_of_a_container_stands_until_its_server_answers() -> None:
    changes = ServerChanges(PAIR)
    texts(changes, "mysql1", {"read_only": 0, "channels": []})
    assert [each.text.split() for each in changes.container("mysql1", "exited (137)")] == [
        ["mysql1", "-", "down", "exited", "(137)"]
    ]
    assert not changes.container("mysql1", "exited (137)")
    assert not texts(changes, "mysql1", {"error": "2003: refused"})
    assert texts(changes, "mysql1", {"read_only": 1, "channels": []}) == [
        "mysql1 reader detached read-only and follows nobody"
    ]


def test_the_log_says_what_a_silent_server_does() -> None:
    changes = ServerChanges(CLUSTER)
    every = "galera1:0,galera2:0,galera3:0"
    texts(changes, "galera2", galera(3, 4, every))
    changes.container("galera1", "exited (0)")
    assert not changes.silent()
    assert [each.text.split()[:4] for each in changes.container("galera1", "running")] == [
        ["galera1", "-", "no", "answer"]
    ]
    assert not texts(changes, "galera1", {"error": "2003: refused"}) and changes.silent() == [
        "galera1"
    ]
    assert [
        " ".join(each.text.split())
        for each in changes.log("galera1", "WSREP_SST: [INFO] Streaming")
    ] == ["galera1 - joiner full state transfer (SST)"]
    assert texts(changes, "galera2", galera(3, 2, every)) == ["galera2 writer donor for galera1"]
    assert not texts(changes, "galera1", {"error": "2003: refused"}), "the log still says it"
    assert "galera1 writer synced sees galera1, galera2, galera3" in texts(
        changes, "galera1", galera(3, 4, every)
    )
    assert not changes.silent() and not changes.log("galera1", "WSREP_SST: [INFO] Streaming")


@pytest.mark.parametrize(
    ("role", "read_only", "shown"),
    [("PRIMARY", 0, "writer"), ("PRIMARY", 1, "reader"), ("SECONDARY", 1, "reader")],
)
def test_the_role_of_a_member(role: str, read_only: int, shown: str) -> None:
    changes = ServerChanges([ObservedServer("gr1", "gr", 1, 1)])
    status = {"role": role, "state": "ONLINE", "members": f"gr1 ONLINE {role}"}
    assert texts(changes, "gr1", {"read_only": read_only, "status": status}) == [
        f"gr1 {shown} ONLINE sees gr1"
    ]

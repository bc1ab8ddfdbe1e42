"""Who HAProxy may send writes and reads to, by what a server says of itself:
compose/haproxy/eligibility.py.
"""

import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

from contract.stacks import CHECKOUT


def _load(name: str) -> ModuleType:
    """A file of the checker under its own name, by which the others import it."""
    spec = importlib.util.spec_from_file_location(
        name, CHECKOUT / "compose" / "haproxy" / f"{name}.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


eligibility = _load("eligibility")
checker = _load("checker")

SYNCED = {
    "wsrep_cluster_status": "Primary",
    "wsrep_local_state": "4",
    "wsrep_local_state_comment": "Synced",
    "wsrep_ready": "ON",
    "read_only": "OFF",
}
PRIMARY: dict[str, Any] = {
    "state": "ONLINE",
    "role": "PRIMARY",
    "primaries": 1,
    "reachable": 3,
    "members": 3,
    "super_read_only": 0,
}
SECONDARY = {**PRIMARY, "role": "SECONDARY", "super_read_only": 1}
RUNNING = {"Replica_IO_Running": "Yes", "Replica_SQL_Running": "Yes", "Seconds_Behind_Source": 0}


def may(verdict: Any) -> tuple[bool, bool]:
    """(may be written to, may be read)."""
    return verdict.not_writer == "", verdict.not_reader == ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (True, True)),
        ({"read_only": "ON"}, (False, True)),
        ({"wsrep_local_state": "2", "wsrep_local_state_comment": "Donor/Desynced"}, (False, False)),
        ({"wsrep_cluster_status": "non-Primary"}, (False, False)),
        ({"wsrep_ready": "OFF"}, (False, False)),
    ],
)
def test_a_galera_node_must_be_synced_in_the_primary_component(
    change: Mapping[str, str], expected: tuple[bool, bool]
) -> None:
    assert may(eligibility.judge_galera({**SYNCED, **change})) == expected


def test_a_server_without_a_provider_is_no_galera_node() -> None:
    assert may(eligibility.judge_galera({"read_only": "OFF"})) == (False, False)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (PRIMARY, (True, False)),
        (SECONDARY, (False, True)),
        # elected, and still applying what the last one left.
        ({**PRIMARY, "super_read_only": 1}, (False, False)),
        ({**PRIMARY, "primaries": 3}, (True, True)),
        ({**SECONDARY, "state": "RECOVERING"}, (False, False)),
        ({**PRIMARY, "state": "ERROR"}, (False, False)),
        ({**PRIMARY, "state": None}, (False, False)),
        # Cut off with a minority, and not yet aware of it.
        ({**PRIMARY, "reachable": 1}, (False, False)),
        ({**PRIMARY, "reachable": 1, "members": 2}, (False, False)),
    ],
)
def test_a_member_must_be_online_with_a_majority(
    member: Mapping[str, Any], expected: tuple[bool, bool]
) -> None:
    assert may(eligibility.judge_member(member)) == expected


@pytest.mark.parametrize(
    ("read_only", "channels", "expected"),
    [
        ("OFF", [], (True, False)),
        ("OFF", [RUNNING], (True, False)),
        ("ON", [], (False, False)),
        ("ON", [RUNNING], (False, True)),
        ("ON", [RUNNING, {**RUNNING, "Replica_SQL_Running": "No"}], (False, False)),
        ("ON", [{"Slave_IO_Running": "Connecting", "Slave_SQL_Running": "Yes"}], (False, False)),
        ("ON", [{"Slave_IO_Running": "Yes", "Slave_SQL_Running": "Yes"}], (False, True)),
        ("ON", [{"Channel_Name": "what no version says"}], (False, False)),
    ],
)
def test_an_asynchronous_replica_must_replicate_to_be_read(
    read_only: str, channels: list[Mapping[str, Any]], expected: tuple[bool, bool]
) -> None:
    assert may(eligibility.judge_single(read_only, channels)) == expected


@pytest.mark.parametrize(
    "verdict",
    [
        eligibility.judge_galera(
            {**SYNCED, "wsrep_local_state": "2", "wsrep_local_state_comment": "Donor/Desynced"}
        ),
        eligibility.judge_member({**PRIMARY, "state": "ERROR"}),
        eligibility.judge_single("ON", [{**RUNNING, "Replica_IO_Running": "Connecting"}]),
    ],
)
def test_a_refusal_says_why(verdict: Any) -> None:
    assert any(
        word in verdict.not_reader
        for word in ("Donor/Desynced", "ERROR", "Replica_IO_Running=Connecting")
    )

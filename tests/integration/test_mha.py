"""MHA on real servers: it promotes a replica by itself, again and again, and the old source comes
back where it can.
"""

import re

import pytest

from integration.live import LiveStack, live_stack, run
from integration.turns import of_today

pytestmark = [pytest.mark.docker, pytest.mark.long]


def roles(stack: LiveStack) -> dict[str, str]:
    """Role of every server."""
    return {
        str(node["name"]): str(node["role"])
        for node in stack.data()
        if node["role"] in ("writer", "reader")
    }


def is_refused(stack: LiveStack, server: str) -> bool:
    """Whether the manager says that a server holds transactions that the source does not have."""
    logs = run(["docker", "logs", stack.container("mha1")])
    return (
        re.search(rf"{server} cannot follow \w+ and stays read-only: .*1236", logs.stderr)
        is not None
    )


@pytest.mark.parametrize("version", of_today(["10.5", "10.11", "11.8"], days=3))
def test_it_promotes_each_time_and_the_old_source_rejoins(version: str) -> None:
    with live_stack(f"mariadb@{version}+replica2+mha+haproxy") as stack:
        seen = set()
        for fault in ("server-crash", "host-loss"):
            before = next(name for name, role in roles(stack).items() if role == "writer")
            record = stack.trial("--fault", fault)
            assert record["trial"]["steps"][0]["nodes"] == [before]
            after = roles(stack)
            others = [role for name, role in after.items() if name != before]
            assert (
                sorted(others) == ["reader", "writer"] and 0 < record["metrics"]["rto_ms"] < 60_000
            )
            # What a lost host had committed and not sent cannot be saved: then its server must stay
            # apart.
            if not (fault == "host-loss" and before not in after and is_refused(stack, before)):
                assert after.get(before) == "reader", "all are there, and ready, at its end"
                assert record["metrics"]["redundancy_ms"] > 0
            ledger = record["trial"]["ledger"]
            assert ledger["duplicate"]["count"] == ledger["phantom"]["count"] == 0
            if fault == "server-crash":
                assert ledger["lost"]["count"] == 0, (
                    "what the source had not sent was saved from its binary logs"
                )
            seen.add(before)
        assert len(seen) == 2

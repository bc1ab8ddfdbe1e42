"""MHA on real servers: it promotes a replica by itself, again and again, and the old source comes back as a replica."""

import pytest

from integration.live import LiveStack, live_stack

pytestmark = [pytest.mark.docker, pytest.mark.long]


def roles(stack: LiveStack) -> dict[str, str]:
    """Role of every server."""
    return {str(node["name"]): str(node["role"]) for node in stack.data() if node["role"] in ("writer", "reader")}


@pytest.mark.parametrize("version", ["10.5", "10.11", "11.8"])
def test_it_promotes_each_time_and_the_old_source_rejoins(version: str) -> None:
    with live_stack(f"mariadb@{version}+replica2+mha+haproxy") as stack:
        seen = set()
        for fault in ("server-crash", "host-loss"):
            before = next(name for name, role in roles(stack).items() if role == "writer")
            record = stack.trial("--fault", fault)
            assert record["trial"]["steps"][0]["nodes"] == [before]
            after = roles(stack)
            assert sorted(after.values()) == ["reader", "reader", "writer"], "all are there, and ready, at its end"
            assert after[before] == "reader" and 0 < record["metrics"]["rto_ms"] < 60_000
            ledger = record["trial"]["ledger"]
            assert ledger["duplicate"]["count"] == ledger["phantom"]["count"] == 0
            if fault == "server-crash":
                assert ledger["lost"]["count"] == 0, "what the source had not sent was saved from its binary logs"
            seen.add(before)
        assert len(seen) == 2

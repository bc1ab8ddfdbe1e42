"""Drivers of applications beside the prober on a real cluster: each writes and reads."""

from collections.abc import Iterator
from typing import Any

import pytest

from integration.live import LiveStack, live_stack
from integration.turns import of_today
from sandbox.measure.trial.drivers import every_driver

pytestmark = [pytest.mark.docker, pytest.mark.long]
"""On one worker: two probers with a driver each are more than two processors can serve."""
CHOICES = [
    f"{name}:{mode}" if mode != "one" else name
    for name, spec in every_driver().items()
    for mode in spec.mode_names
]
"""An eighth of them a day."""


@pytest.fixture(scope="module")
def stack() -> Iterator[LiveStack]:
    """A cluster behind a proxy, used by every trial here."""
    with live_stack("galera3+haproxy") as found:
        yield found


def tried(stack: LiveStack, driver: str, *more: str) -> dict[str, Any]:
    """The record of a trial whose writer crashes, for 5 s."""
    fault = ["--fault", "server-crash", "--seconds", "5"]
    return stack.trial(*fault, "--driver", driver, *more)


def judged(record: dict[str, Any], driver: str) -> None:
    """The driver wrote and read, and its outage is known; nothing that it was promised is lost."""
    found = record["trial"]["driver"]
    assert f"{found['name']}:{found['mode']}".removesuffix(":one") == driver
    assert any(each.isdigit() for each in found["version"])
    ledger, metrics = found["ledger"], record["metrics"]
    assert ledger["acked"] > 300 and ledger["lost"]["count"] == 0 == ledger["phantom"]["count"]
    assert ledger["stale"]["writer"]["reads"] + ledger["stale"]["reader"]["reads"] > 50
    if record["status"] == "ok":  # else the host was too busy for the prober, and for the driver
        assert found["figures"]["errors_before"] == {"writes": {}, "reads": {}}
    assert metrics["driver_rto_ms"] is not None and metrics["rto_ms"] is not None
    names = {check["name"] for check in record["checks"]}
    assert {"driver_lost", "driver_phantom", "driver_duplicate"} <= names


def test_a_driver_is_out_beside_the_prober_and_leaves_nothing(stack: LiveStack) -> None:
    """Through the proxy."""
    judged(tried(stack, "pymysql"), "pymysql")
    assert not [node for node in stack.containers() if node.endswith("-driver")]


@pytest.mark.parametrize("driver", of_today(CHOICES, days=8))
def test_every_driver_in_every_mode(stack: LiveStack, driver: str) -> None:
    """At the servers themselves."""
    judged(tried(stack, driver, "--via", "writer"), driver)

"""perf: how long stacks take to start, from nothing, from an image seen before, from their
snapshot.
"""

import statistics
import time
from dataclasses import dataclass, field, replace
from secrets import randbelow
from typing import Any

from perf.plain_docker import plain_run
from perf.timing import NAME, sandbox, tell, timed
from sandbox.profile.compose import compose_document
from sandbox.profile.names import Identity
from sandbox.profile.plan import PlanRequest
from sandbox.stack.planning import planned
from sandbox.stack.secrets import draw_secrets

STACKS = {
    "single": "mysql@9.7",
    "replicas": "mysql@9.7+replica2",
    "galera3": "galera3@11.8",
    "gr3": "gr3@9.7",
}


@dataclass
class _Times:
    """Seconds of one profile, by repetition. ``seen``: a plan that is new, on servers whose images
    are known.
    """

    cold: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    seen: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    down: list[float] = field(default_factory=list)


def up_figures(repetitions: int, samples: dict[str, Any]) -> dict[str, Any]:
    """Ratios to plain ``docker run`` of the same containers, seconds from a snapshot, seconds of
    ``down``.
    """
    figures: dict[str, Any] = {}
    downs: list[float] = []
    for key, profile in STACKS.items():
        tell(f"up of {profile} against plain docker run, {repetitions} times, alternating")
        times = _Starts(profile).measured(repetitions)
        downs += times.down
        samples[f"up_{key}"] = {
            f"{name}_s": [round(value, 3) for value in getattr(times, name)]
            for name in ("cold", "floor", "seen", "warm")
        }
        cold, floor, seen, warm = (
            statistics.median(each) for each in (times.cold, times.floor, times.seen, times.warm)
        )
        figures |= {
            f"up_{key}_ratio": round(cold / floor, 3),
            f"up_{key}_s": round(cold, 3),
            f"up_{key}_floor_s": round(floor, 3),
            f"up_seen_image_{key}_ratio": round(seen / floor, 3),
            f"up_seen_image_{key}_s": round(seen, 3),
            f"up_warm_{key}_s": round(warm, 3),
        }
    return {
        **figures,
        "down_s": round(statistics.median(downs), 3),
        "down_max_s": round(max(downs), 3),
    }


class _Starts:
    """One profile, started in every way in turn."""

    def __init__(self, profile: str) -> None:
        self.profile, self.times = profile, _Times()
        self.plan = planned(PlanRequest(profile))
        # What is plainly run has no certificate given, and makes its own keys as it does for
        # everybody.
        secrets = replace(draw_secrets(self.plan), own_certificate="", own_key="")
        self.document = compose_document(self.plan, secrets, Identity(NAME, ""))

    def measured(self, repetitions: int) -> _Times:
        """The times. What is restored is made before."""
        sandbox("down", "--name", NAME)
        sandbox("images", "--profile", self.profile)
        self._keep()
        ways = [self._cold, self._floor, self._seen, self._warm]
        for repetition in range(repetitions):
            # In changing order: what comes second meets a disk that still writes what the first has
            # left.
            for way in ways[repetition % 4 :] + ways[: repetition % 4]:
                way()
            shown = "   ".join(
                f"{name} {getattr(self.times, name)[-1]:.2f} s" for name in _Times.__annotations__
            )
            tell(f"  {shown}")
        return self.times

    def _keep(self) -> None:
        """Its snapshot, and the base data directories of its servers: made in the background once
        it is up.
        """
        sandbox("up", "--name", NAME, "--profile", self.profile, "--cold")
        # A command that uses the stack waits until snapshot and base data directories are taken.
        sandbox("sql", "--name", NAME, "--node", self.plan.databases[0].name, stdin="select 1;")
        sandbox("down", "--name", NAME)

    def _cold(self) -> None:
        self.times.cold.append(self._up("--snapshots", "0"))

    def _warm(self) -> None:
        self.times.warm.append(self._up())

    def _seen(self) -> None:
        # Never planned before on this machine: an earlier run may have kept a snapshot.
        self.times.seen.append(self._up("--set", f"net_write_timeout={100 + randbelow(1_000_000)}"))

    def _up(self, *options: str) -> float:
        seconds = timed(lambda: sandbox("up", "--name", NAME, "--profile", self.profile, *options))
        self.times.down.append(timed(lambda: sandbox("down", "--name", NAME)))
        return seconds

    def _floor(self) -> None:
        begin = time.monotonic()
        with plain_run(self.document, [node.name for node in self.plan.nodes], "sandbox-floor"):
            self.times.floor.append(time.monotonic() - begin)

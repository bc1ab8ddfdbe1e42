"""A stack that broke during a matrix: whether it must be started from scratch, and the logs of its nodes."""

import time
from collections.abc import Mapping
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.results.record import Record
from sandbox.results.redaction import mask
from sandbox.stack.protocol import RunningStack

_DEATH_S = 2.0


def is_broken(record: Record) -> bool:
    """Whether a run leaves its stack unusable; a condition that was not met, with all nodes alive, does not."""
    alive = any(check.name == "nodes_alive" and check.verdict == "pass" for check in record.checks)
    return record.status == "infra_error" and not alive


def dead_soon(stack: RunningStack) -> Mapping[str, str]:
    """The dead nodes; the engine notices a death a moment after the server stops answering."""
    end = time.monotonic() + _DEATH_S
    while not (dead := stack.dead_nodes()) and time.monotonic() < end:
        time.sleep(0.1)
    return dead


def death_message(dead: Mapping[str, str]) -> str:
    """The dead nodes, each with its state; empty if all run."""
    return "died between two runs: " + "; ".join(f"{name}: {state}" for name, state in dead.items()) if dead else ""


def save_logs(stack: RunningStack, folder: Path) -> dict[str, str]:
    """Keeps the log of every node in a run's folder; returns their entries in the record's list of files.

    Nothing is kept if the passwords, which a log might contain, are unavailable.
    """
    try:
        secrets, nodes = stack.secrets(), stack.nodes()
    except (SandboxError, TimeoutError):
        return {}
    files = {}
    for node in nodes:
        if node.has_container and node.kind != "client":
            path = folder / "logs" / f"{node.name}.log"
            path.parent.mkdir(exist_ok=True)
            path.write_text(mask(stack.log(node.name), secrets), encoding="utf-8")
            files[f"log_{node.name}"] = f"logs/{node.name}.log"
    return files

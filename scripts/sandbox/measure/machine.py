"""The machine on which the containers run: its fingerprint, its load during a run, its speed before
a block, its noise as calibrated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sandbox.core.errors import MachineError, SandboxError
from sandbox.core.paths import write_atomically
from sandbox.judge.calibration import Calibration
from sandbox.measure import in_client
from sandbox.measure.counters import ServerState
from sandbox.record.manifest import HostCheck
from sandbox.record.record import Environment, HostLoad, Part
from sandbox.stack.client_python import ask_script
from sandbox.stack.locks import cache_folder, locked
from sandbox.stack.protocol import Engine, EntryPoint, RunningStack, StackNode


def take_fingerprint(
    stack: RunningStack,
    client: str,
    servers: Iterable[StackNode],
    before: Mapping[str, ServerState],
) -> Environment:
    """Asks the engine and the client node, never the machine that this process runs on. Raises
    SandboxError.
    """
    engine = stack.engine()
    machine = ask_script(stack, client, in_client.__name__, "fingerprint", None)
    return Environment(
        **{**shared(Environment, engine), **machine},
        engine_version=engine.version,
        data_file_system={
            server.name: _data_file_system(stack, server, before[server.name].data_folder)
            for server in servers
            if server.has_container and server.name in before
        },
        inputs=stack.inputs,
    )


def shared(part: type[Part], found: Engine | EntryPoint | StackNode) -> dict[str, Any]:
    """The fields of a part of a record that what was found has too."""
    return {name: value for name, value in asdict(found).items() if name in part.model_fields}


def _data_file_system(stack: RunningStack, server: StackNode, folder: str) -> str | None:
    try:
        mounts = stack.run(server.name, ["cat", "/proc/self/mounts"], timeout_s=10).stdout
    except (SandboxError, TimeoutError):
        return None
    return file_system_of(mounts, folder)


def file_system_of(mounts: str, folder: str) -> str | None:
    """Type of the file system that holds ``folder``: the deepest mount point above it in
    ``/proc/self/mounts``.
    """
    # A later mount hides an earlier one.
    lines = [line.split(" ") for line in reversed(mounts.splitlines())]
    inside = f"{folder.rstrip('/')}/"
    above = [
        (len(point), kind)
        for _, point, kind, *_ in lines
        if inside.startswith(f"{point.rstrip('/')}/")
    ]
    return max(above, key=lambda each: each[0])[1] if above else None


def host_load(lines: Sequence[Mapping[str, Any]]) -> HostLoad:
    """Shares of the time between the first and the last host line of the sampler; nulls for fewer
    than two lines.
    """
    if len(lines) < 2:
        return HostLoad()
    first = lines[0]
    last = lines[-1]
    seconds = last["t_s"] - first["t_s"]
    busy, steal = _cpu_percent(first, last)
    steals = [_cpu_percent(one, other)[1] for one, other in pairwise(lines)]
    return HostLoad(
        seconds=round(seconds, 1),
        cpu_busy_percent=busy,
        steal_percent=steal,
        steal_percent_max_1s=max((value for value in steals if value is not None), default=None),
        pressure_cpu_some_percent=_pressure(first, last, "cpu", "some"),
        pressure_io_some_percent=_pressure(first, last, "io", "some"),
        pressure_io_full_percent=_pressure(first, last, "io", "full"),
        pressure_memory_some_percent=_pressure(first, last, "memory", "some"),
        load_average_1min_max=max(line["host"]["load_average"] for line in lines),
    )


def _cpu_percent(
    first: Mapping[str, Any], last: Mapping[str, Any]
) -> tuple[float | None, float | None]:
    """Busy time and steal time of all processors, percent; None where no tick passed."""
    before, after = first["host"]["cpu_ticks"], last["host"]["cpu_ticks"]
    ticks = {name: after[name] - before[name] for name in after}
    total = sum(ticks.values())
    if total <= 0:
        return None, None
    busy = total - sum(ticks[name] for name in ("idle", "iowait"))
    return round(100 * busy / total, 1), round(100 * ticks["steal"] / total, 2)


def _pressure(
    first: Mapping[str, Any], last: Mapping[str, Any], resource: str, kind: str
) -> float | None:
    """Share of the time that some or all tasks were stalled for a resource, percent."""
    before, after = first["host"]["stalled_us"][resource], last["host"]["stalled_us"][resource]
    microseconds = 1e6 * (last["t_s"] - first["t_s"])
    if before is None or after is None or kind not in after or microseconds <= 0:
        return None
    stalled: float = 100 * (after[kind] - before[kind]) / microseconds
    return round(stalled, 2)


def check_host(stack: RunningStack, block: int) -> HostCheck:
    """The speed of the machine before a block, asked in the client node. Raises MachineError where
    it does not answer in time.
    """
    client = next(node.name for node in stack.nodes() if node.kind == "client")
    try:
        figures = ask_script(stack, client, in_client.__name__, "host_check", None)
    except TimeoutError as late:
        what = "the host check did not end"
        raise MachineError(what, str(late), "try: make doctor") from late
    return HostCheck(block=block, **figures)


def calibration_path() -> Path:
    """``~/.cache/sandbox/calibration.json``."""
    return cache_folder() / "calibration.json"


def read_calibration() -> Calibration:
    """The known calibrations; empty where the file is missing or invalid, since it is only a
    cache.
    """
    try:
        return Calibration.model_validate_json(calibration_path().read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return Calibration()


def change_calibration(change: Callable[[Calibration], Calibration]) -> Calibration:
    """Reads, changes and writes the file, one command at a time. Raises OSError where it cannot be
    written.
    """
    with locked("calibration", lambda: None):
        changed = change(read_calibration())
        calibration_path().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(calibration_path(), changed.model_dump_json(indent=1) + "\n")
        return changed

"""The fingerprint of the machine on which the containers run: engine, processor, memory, kernel, file systems."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from sandbox.errors import SandboxError
from sandbox.results.record import Environment, Inputs
from sandbox.run import in_client
from sandbox.run.snapshot import ServerState
from sandbox.stack.protocol import RunningStack, StackNode
from sandbox.workloads.common.in_client import ask_script


def take_fingerprint(
    stack: RunningStack, client: str, servers: Iterable[StackNode], before: Mapping[str, ServerState]
) -> Environment:
    """Asks the engine and the client node, never the machine that this process runs on. Raises SandboxError."""
    engine = stack.engine()
    machine = ask_script(stack, client, in_client.__name__, "fingerprint", None)
    inputs = asdict(stack.inputs)
    return Environment(
        **machine,
        cpus=engine.cpus,
        architecture=engine.architecture,
        operating_system=engine.operating_system,
        cgroup_version=engine.cgroup_version,
        engine_version=engine.version,
        storage_driver=engine.storage_driver,
        data_file_system={
            server.name: _data_file_system(stack, server, before[server.name].data_folder)
            for server in servers
            if server.has_container and server.name in before
        },
        inputs=Inputs(**{**inputs, "assignments": list(inputs["assignments"])}),
    )


def _data_file_system(stack: RunningStack, server: StackNode, folder: str) -> str | None:
    try:
        mounts = stack.run(server.name, ["cat", "/proc/self/mounts"], timeout_s=10).stdout
    except (SandboxError, TimeoutError):
        return None
    return file_system_of(mounts, folder)


def file_system_of(mounts: str, folder: str) -> str | None:
    """Type of the file system that holds ``folder``: the deepest mount point above it in ``/proc/self/mounts``."""
    found: tuple[int, str] | None = None
    for line in mounts.splitlines():
        _, point, kind, *_ = line.split(" ")
        above = point == "/" or f"{folder.rstrip('/')}/".startswith(f"{point}/")
        if above and (found is None or len(point) >= found[0]):
            found = (len(point), kind)
    return found[1] if found else None

"""The floor that `up` is measured against: the same containers by plain parallel `docker run`."""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.stack.create import unescaped

LABEL = "sandbox.floor=1"


@contextmanager
def plain_run(document: Mapping[str, Any], nodes: list[str], name: str) -> Iterator[None]:
    """The given services of a Compose document, up and ready inside the block, gone after it.

    Every node initialises and forms as in the stack: same image, wrapper, configuration and
    readiness query.
    """
    with tempfile.TemporaryDirectory(prefix="sandbox-floor-") as folder:
        try:
            _docker("network", "create", "--internal", "--label", LABEL, name)
            _all([_run_command(document, node, name, Path(folder)) for node in nodes])
            _all(
                [
                    [
                        "docker",
                        "exec",
                        f"{name}-{node}",
                        "sh",
                        "-c",
                        "until sh /sandbox/probe ready; do sleep 0.1; done",
                    ]
                    for node in nodes
                ]
            )
            yield
        finally:
            _remove(name, nodes)


def _remove(name: str, nodes: list[str]) -> None:
    _docker("rm", "-f", "-v", *[f"{name}-{node}" for node in nodes])
    volumes = _docker("volume", "ls", "-q", "--filter", f"name={name}-").split()
    if volumes:
        _docker("volume", "rm", *volumes)
    _docker("network", "rm", name)


def _run_command(document: Mapping[str, Any], node: str, name: str, folder: Path) -> list[str]:
    service = document["services"][node]
    entrypoint, command = list(service.get("entrypoint", [])), list(service.get("command", []))
    argv = [
        "docker",
        "run",
        "-d",
        "--label",
        LABEL,
        "--name",
        f"{name}-{node}",
        "--hostname",
        node,
        "--network",
        name,
        "--network-alias",
        node,
    ]
    for variable, value in service.get("environment", {}).items():
        argv += ["-e", f"{variable}={value}"]
    for mount in service.get("configs", []):
        argv += ["-v", f"{_file(document, mount, folder / node)}:{mount['target']}:ro"]
    for volume in service.get("volumes", []):
        argv += ["-v", f"{name}-{volume}"]
    argv += ["--entrypoint", entrypoint[0]] if entrypoint else []
    return [
        *(unescaped(part) for part in argv),
        service["image"],
        *map(unescaped, entrypoint[1:] + command),
    ]


def _file(document: Mapping[str, Any], mount: Mapping[str, Any], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / str(mount["target"]).strip("/").replace("/", "-")
    path.write_text(unescaped(document["configs"][mount["source"]]["content"]), encoding="utf-8")
    path.chmod(int(mount["mode"]) | 0o044)  # the floor need not guard passwords of a second's life
    return path


def _all(commands: list[list[str]]) -> None:
    """Runs commands at once; CalledProcessError for the first that fails."""
    running = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for command in commands
    ]
    for process, command in zip(running, commands, strict=True):
        _, stderr = process.communicate()
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, stderr=stderr)


def _docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout

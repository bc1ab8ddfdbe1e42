"""The class of machine that containers run on: results compare within one class, a calibration belongs to one."""

import re
from pathlib import Path

from sandbox.stack.protocol import Engine


def host_class(engine: Engine, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """``AMD EPYC, 2 cores, engine 20.10.24, fuse-overlayfs``."""
    return f"{_cpu_model(engine, cpuinfo)}, {engine.cpus} cores, engine {engine.version}, {engine.storage_driver}"


def _cpu_model(engine: Engine, cpuinfo: Path) -> str:
    """The processor's name where this machine's kernel is the containers' too, else their architecture."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else engine.architecture

"""Runs in the client node: reads /proc and /sys of the machine, which a container shares. JSON
out.
"""

import json
import re
import sys
from pathlib import Path


def text_of(path: str) -> str | None:
    """A file's text without the trailing newline; None where it cannot be read."""
    try:
        return Path(path).read_text().strip("\n\0") or None
    except OSError:
        return None


def first(pattern: str, text: str | None) -> str | None:
    """First group of a pattern, line by line; None without a match."""
    match = re.search(pattern, text or "", re.MULTILINE)
    return match[1].strip() if match else None


def virtualization(cpuinfo: str | None) -> str | None:
    """Vendor and product of a virtual machine; ``none`` where the CPU flags show no hypervisor."""
    maker = text_of("/sys/class/dmi/id/sys_vendor")
    product = text_of("/sys/class/dmi/id/product_name")
    named = " ".join(part for part in (maker, product) if part) or text_of("/sys/hypervisor/type")
    flags = first(r"^flags\s*:(.*)$", cpuinfo)
    if flags is None:
        return named
    return (named or "unnamed hypervisor") if "hypervisor" in flags.split() else "none"


def main() -> None:
    """Prints the fingerprint."""
    cpuinfo = text_of("/proc/cpuinfo")
    memory = first(r"^MemTotal:\s+(\d+) kB", text_of("/proc/meminfo"))
    json.dump(
        {
            "cpu_model": (
                first(r"^model name\s*:(.*)$", cpuinfo) or first(r"^CPU part\s*:(.*)$", cpuinfo)
            ),
            "cpu_governor": text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            "memory_bytes": int(memory) * 1024 if memory else None,
            "kernel": text_of("/proc/sys/kernel/osrelease"),
            "virtualization": virtualization(cpuinfo),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()

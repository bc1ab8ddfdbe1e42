"""What the engine's kernel supports, tested in short-lived containers of the client image."""

from typing import Literal

from sandbox.stack.engine import Docker, Pending
from sandbox.stack.inventory import helper_options
from sandbox.stack.naming import identity
from sandbox.stack.protocol import ExecResult

_PATIENCE_S = 20.0
_ABILITIES = {
    "netem": ("delay and jitter", "modprobe sch_netem, or a kernel that has it"),
    "tbf": ("bandwidth limits", "modprobe sch_tbf, or a kernel that has it"),
    "iptables": ("network partitions", "modprobe ip_tables iptable_filter, or a kernel that has them"),
    "loop": ("separate disks", "modprobe loop, or a kernel that has it"),
}
_NO_IMAGE = "the client image is missing"

# Each line: a name, `yes` or `no`, and the answer.
_TRY = """
try() {
  name=$1; shift
  if answer=$("$@" 2>&1); then echo "$name yes $answer"; else echo "$name no $(printf '%s' "$answer" | tail -n 1)"; fi
}
try netem tc qdisc add dev lo root netem delay 1ms
tc qdisc del dev lo root 2>/dev/null
try tbf tc qdisc add dev lo root tbf rate 1mbit burst 32kbit latency 400ms
try iptables iptables -A INPUT -s 192.0.2.1 -j DROP
try governor cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
try disk sh -c "df -Pm / | awk 'NR == 2 {print \\$4}'"
"""
# LOOP_CTL_GET_FREE (linux/loop.h) answers the number of a free loop device.
_LOOP = "import fcntl, os; print('loop yes', fcntl.ioctl(os.open('/dev/loop-control', os.O_RDWR), 0x4C82))"

Ability = tuple[str, Literal["ok", "warning", "unknown"], str, str]


class KernelProbe:
    """The answers of two parallel containers; none where the client image is missing."""

    def __init__(self, network: Pending | None, loop: Pending | None) -> None:
        self._pending = (network, loop)
        self._found: dict[str, tuple[bool, str]] | None = None

    def abilities(self) -> list[Ability]:
        """(name, state, detail, fix) of netem, tbf, iptables and loop devices."""
        return [self._ability(name, *words) for name, words in _ABILITIES.items()]

    def governor(self) -> str | None:
        """The CPU frequency governor; None where the kernel shows none."""
        can, text = self._answers().get("governor", (False, ""))
        return text if can else None

    def disk_mb(self) -> int | None:
        """Free space where containers live, MiB; None where it is unknown."""
        can, text = self._answers().get("disk", (False, ""))
        return int(text) if can and text.isdigit() else None

    def _ability(self, name: str, purpose: str, fix: str) -> Ability:
        if name not in self._answers():
            return name, "unknown", f"{_NO_IMAGE} ({purpose})", "make images"
        can, text = self._answers()[name]
        return (name, "ok", purpose, "") if can else (name, "warning", f"no {purpose}: {text}", fix)

    def _answers(self) -> dict[str, tuple[bool, str]]:
        if self._found is None:
            network, loop = (_bounded(pending) for pending in self._pending)
            self._found = _read(network.stdout)
            if loop is not None and self._pending[1] is not None:
                reason = (loop.stderr.strip() or "no answer").rpartition("\n")[2]
                self._found["loop"] = _read(loop.stdout).get("loop", (False, reason))
        return self._found


def begin_kernel_probe(docker: Docker, image: str | None) -> KernelProbe:
    """Starts the containers; ``image`` None: the client image is missing."""
    if image is None:
        return KernelProbe(None, None)
    run = ["run", "--rm", "--network", "none", *helper_options(identity("doctor"))]
    network = docker.begin(*run, "--cap-add", "NET_ADMIN", "--entrypoint", "sh", image, "-c", _TRY)
    loop = docker.begin(*run, "--device", "/dev/loop-control", "--entrypoint", "python3", image, "-c", _LOOP)
    return KernelProbe(network, loop)


def _bounded(pending: Pending | None) -> ExecResult:
    try:
        return pending.answer(_PATIENCE_S) if pending else ExecResult(0, "", "")
    except TimeoutError as late:
        return ExecResult(1, "", str(late))


def _read(text: str) -> dict[str, tuple[bool, str]]:
    lines = [line.split(" ", 2) for line in text.splitlines()]
    return {line[0]: (line[1] == "yes", line[2] if len(line) > 2 else "") for line in lines if len(line) > 1}

"""What all faults share: not in effect before, in effect after their injection, mended by heal, as
often as it runs.
"""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.failure.fault import FAULT_KINDS, fault_named
from unit.failure.faults.fake_node import FakeNode, scene

OPTIONS: dict[str, dict[str, Any]] = {"sql": {"statement": "SHUTDOWN"}}
UNSEEN = {"by-hand", "none", "sql"}
"""Faults of which nothing can be seen from outside."""
TABLE = b"".join(b"\xff\0\n'" + number.to_bytes(4, "big") + bytes(16376) for number in range(6))
OWN_DISK = (
    "1 0 0:50 / / rw - overlay overlay rw\n2 1 7:0 / /var/lib/mysql rw,relatime - ext4 /dev/loop0"
    " rw\n"
)
FULL_DISK_DD = """\
case "$*" in
  *of=*.sandbox-write*) [ ! -e "$ROOT/full" ] && echo '1 bytes copied' >&2 || { echo 'No space left' >&2; exit 1; } ;;
  *of=*.sandbox-ballast*) text=$*; printf "%0${text##*seek=}d" 0 >"$ROOT/var/lib/mysql/.sandbox-ballast" ;;
  *) printf '%05000d' 0; : >"$ROOT/full"; echo 'dd: error writing: No space left on device' >&2; exit 1 ;;
esac
"""  # noqa: E501
REMOVE = '/bin/rm "$@"; case "$*" in *ballast*) /bin/rm -f "$ROOT/full" ;; esac\n'
CLOCK_PROBE = '[ "$1" = proof-adjustable-clock ] || exit 2\necho preloaded\n'
SKEWED_CLIENT = """\
read -r offset 2>/dev/null <"$ROOT/run/sandbox-clock/offset"
echo $(($(date +%s%6N) + ${offset%.*}000000))
"""
LIMITED_TIMEOUT = '[ ! -e "$ROOT/limited" ] || exit 124\n'


def furnish(node: FakeNode, fault: str) -> None:
    """Gives the node what a fault works on."""
    if fault == "clock-skew":
        (node.root / "run/sandbox-clock").mkdir(parents=True)
        (node.root / "sandbox/probe").write_text(CLOCK_PROBE)
        node.tool("mysql", SKEWED_CLIENT)
    elif fault == "corruption":
        table = node.root / "var/lib/mysql/sandbox/ledger.ibd"
        table.parent.mkdir()
        table.write_bytes(TABLE)
    elif fault == "disk-full":
        (node.root / "proc/self/mountinfo").write_text(OWN_DISK)
        (node.root / "sys/dev/block/7:0").mkdir(parents=True)
        (node.root / "sys/dev/block/7:0/size").write_text("2097152\n")
        node.tool("dd", FULL_DISK_DD)
        node.tool("rm", REMOVE)
    elif fault == "power-loss":
        (node.root / "proc/self/mountinfo").write_text(OWN_DISK)
    elif fault == "slow-disk":
        node.tool("timeout", LIMITED_TIMEOUT)
        limit: Callable[[int | None], None] = node.write_limit

        def write_limit(bytes_per_s: int | None) -> None:
            limit(bytes_per_s)
            (node.root / "limited").unlink(missing_ok=True)
            if bytes_per_s:
                (node.root / "limited").touch()

        node.write_limit = write_limit  # type: ignore[method-assign]
    elif fault == "sql":
        node.tool("mysql", 'printf "%s\\n" "$@" >"$ROOT/asked"\n')


@pytest.mark.parametrize("name", FAULT_KINDS.names())
def test_a_fault_takes_effect_and_is_healed(node: FakeNode, name: str) -> None:
    furnish(node, name)
    fault = fault_named(name, OPTIONS.get(name))
    before = fault.before(node, scene())
    if name not in UNSEEN:
        assert fault.missing_effect(node, scene()), "it is not in effect yet"
    fault.inject(node, scene())
    assert fault.missing_effect(node, scene()) is None
    assert node.whole is (name in UNSEEN | {"slow-disk", "disk-full", "corruption", "clock-skew"})
    fault.heal(node, before)
    assert node.whole
    if name not in UNSEEN:
        assert fault.missing_effect(node, scene()), "it is not in effect any more"


@pytest.mark.parametrize("name", FAULT_KINDS.names())
def test_heal_is_harmless_when_repeated_and_without_an_injection(node: FakeNode, name: str) -> None:
    furnish(node, name)
    fault = fault_named(name, OPTIONS.get(name))
    before = fault.before(node, scene())
    server = (node.root / "sandbox/server.pid").read_text()
    fault.heal(node, before)
    fault.heal(node, before)
    assert node.whole
    assert (node.root / "sandbox/server.pid").read_text() == server, (
        "a server that works is left alone"
    )


@pytest.mark.parametrize("name", FAULT_KINDS.names())
def test_heal_mends_a_node_that_ended_since_and_leaves_one_that_is_gone(
    node: FakeNode, name: str
) -> None:
    furnish(node, name)
    fault = fault_named(name, OPTIONS.get(name))
    before = fault.before(node, scene())
    fault.inject(node, scene())
    node.end("exited (1)")
    fault.heal(node, before)
    assert not (node.root / "rules").read_text()
    node.end("gone")
    calls = len(node.calls)
    fault.heal(node, before)
    assert set(node.calls[calls:]) <= {"release", "unpause"}


SILENT = {"by-hand", "none", "unplug", "graceful", "slow-node", "slow-disk", "hang"}
ASKING = sorted({*FAULT_KINDS.names()} - SILENT)
"""Faults that run a command in the node, or beside it, before they are in effect."""


@pytest.mark.parametrize("name", ASKING)
def test_a_node_that_does_not_answer_is_an_error_of_the_environment(
    node: FakeNode, name: str
) -> None:
    furnish(node, name)
    node.late = True
    fault = fault_named(name, OPTIONS.get(name))
    with pytest.raises(SandboxError) as refused:
        fault.before(node, scene())
        fault.inject(node, scene())
    assert refused.value.exit_code == 4 and len(refused.value.lines()) == 3

"""A server whose wall clock is wrong: by how much, how that is seen, and which servers cannot have
it.
"""

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.fault import fault_named
from sandbox.failure.faults.clock_skew import ClockSkew
from unit.failure.faults.fake_node import FakeNode, scene
from unit.failure.faults.test_every_fault import furnish

# The host's clock is read after the server's: on a busy machine half a second passes, and 60 s
# ahead look like 59.
STOPPED_CLOCK = "case $1 in *6N) echo 1700000000000000 ;; *) echo 1700000000.000000000 ;; esac\n"


@pytest.fixture
def adjustable(node: FakeNode) -> FakeNode:
    """A node with the setting."""
    furnish(node, "clock-skew")
    return node


@pytest.mark.parametrize(
    ("skew_s", "line"), [(60.0, "+60.0\n"), (-3.5, "-3.5\n"), (86_400.0, "+86400.0\n")]
)
def test_the_offset_has_a_sign_and_seconds(adjustable: FakeNode, skew_s: float, line: str) -> None:
    ClockSkew(skew_s=skew_s).inject(adjustable, scene())
    folder = adjustable.root / "run/sandbox-clock"
    assert (folder / "offset").read_text() == line
    ClockSkew().heal(adjustable, {})
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("skew_s", [0, 0.9, -0.9])
def test_an_offset_that_could_not_be_measured_is_refused(skew_s: float) -> None:
    with pytest.raises(SandboxError) as refused:
        fault_named("clock-skew", {"skew_s": skew_s})
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert refused.value.known.startswith("at least 1 s ahead or behind is expected")


def test_another_offset_is_not_the_one_asked_for(adjustable: FakeNode) -> None:
    ClockSkew(skew_s=60).inject(adjustable, scene())
    assert ClockSkew(skew_s=60).missing_effect(adjustable, scene()) is None
    adjustable.tool("date", STOPPED_CLOCK)
    for other in (-60, 61, 59):
        missing = ClockSkew(skew_s=other).missing_effect(adjustable, scene())
        assert missing and missing.endswith(" s from the host's"), other


def test_a_server_that_does_not_answer_shows_no_effect(adjustable: FakeNode) -> None:
    adjustable.tool("mysql", "echo 'ERROR 2002: no server' >&2; exit 1\n")
    assert ClockSkew().missing_effect(adjustable, scene()) == "ERROR 2002: no server"


def test_a_node_without_the_setting_is_skipped(node: FakeNode) -> None:
    (node.root / "sandbox/probe").write_text(
        "echo 'no such question; here: ready role' >&2; exit 2\n"
    )
    with pytest.raises(SandboxError) as refused:
        ClockSkew().before(node, scene())
    assert refused.value.exit_code == ExitCode.UNKNOWN
    assert (
        refused.value.what == "the fault clock-skew is skipped: galera1 has the clock of its host"
    )
    assert refused.value.next_step == "try: make up PROFILE=mysql@9.7+adjustable-clock"


def test_a_server_whose_libc_is_too_old_is_skipped_with_the_reason(node: FakeNode) -> None:
    reason = "true: /lib64/libc.so.6: version `GLIBC_2.34' not found"
    (node.root / "sandbox/probe").write_text(f'echo "{reason.replace("`", chr(92) + "`")}"\n')
    with pytest.raises(SandboxError) as refused:
        ClockSkew().before(node, scene())
    assert refused.value.exit_code == ExitCode.UNKNOWN and refused.value.known == reason
    assert "the server of galera1 takes no other clock" in refused.value.what


def test_an_offset_that_cannot_be_written_is_an_error(adjustable: FakeNode) -> None:
    (adjustable.root / "run/sandbox-clock").rmdir()
    with pytest.raises(MachineError, match="setting the clock of galera1 failed"):
        ClockSkew().inject(adjustable, scene())


def test_a_container_that_ended_took_its_offset_along(adjustable: FakeNode) -> None:
    ClockSkew().inject(adjustable, scene())
    adjustable.end("exited (137)")
    calls = len(adjustable.calls)
    ClockSkew().heal(adjustable, {})
    assert adjustable.calls[calls:] == [] and adjustable.status == "exited (137)", (
        "it is not started for that"
    )

"""A block after a host check out of range is marked, with what was off."""

from sandbox.record.manifest import HostCheck, marked_blocks


def check(block: int, turns: int = 1000, fsync: float = 1.0) -> HostCheck:
    """One look at the machine."""
    return HostCheck(block=block, cpu_turns=turns, fsync_ms=fsync)


def test_a_quarter_off_is_borne_and_more_is_marked() -> None:
    checks = [
        check(1),
        check(2, turns=760),
        check(3, turns=740),
        check(4),
        check(5, turns=700, fsync=2.0),
    ]
    checks += [check(block) for block in range(6, 10)]
    assert marked_blocks(checks) == {3: "processor -26%", 5: "processor -30%, fsync +100%"}


def test_no_check_marks_nothing() -> None:
    assert marked_blocks([]) == {} and marked_blocks([check(1)]) == {}

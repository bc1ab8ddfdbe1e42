"""What tests of breaking and of healing look at."""

from sandbox.stack.journal import breakages
from unit.fake_stack import FakeStack


def broken(stack: FakeStack) -> list[str]:
    """What is written down."""
    return [each.text for each in breakages(stack.project)]

"""Cases that the long run makes in turns: a share of them a day, all with ALL_CASES=1."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

Case = TypeVar("Case")


def of_today(cases: Sequence[Case], days: int) -> list[Case]:
    """The cases whose turn it is: each comes once in so many days, in an order that stays."""
    if "ALL_CASES" in os.environ:
        return [*cases]
    today = datetime.now(UTC).toordinal() % days
    return [case for number, case in enumerate(cases) if number % days == today]

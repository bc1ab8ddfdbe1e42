"""The search for the variables that make the difference, on made-up servers."""

import random
from collections.abc import Sequence
from typing import cast

import pytest

from sandbox.core.errors import SandboxError
from sandbox.repro.bisecting_settings import FoundSettings, SettingsBisector
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.settings import configuration_of
from unit.repro.test_bisecting import MadeUpCell, MadeUpRunner

GOOD = configuration_of("common=1 v0=old")
BAD = configuration_of("common=1 " + " ".join(f"v{number}=new" for number in range(12)))


class Servers(MadeUpRunner):
    """Servers that show the bug where they have all of ``needed``, and at their rate."""

    def __init__(self, needed: set[str], rate: float = 1.0, unable: str | None = None) -> None:
        super().__init__({})
        self.needed = needed
        self.rate = rate
        self.unable = unable
        self.rates: dict[str, float | None] = {}
        self.draw = random.Random(3)

    def cell_of(self, word: str, assignments: Sequence[str]) -> ReproCell:
        """A configuration; one with a certain variable does not start unless all are there."""
        has_all = {each for each in assignments if each in self.needed} == self.needed
        rate: float | None = self.rate if has_all else 0.0
        if self.unable in assignments and len(assignments) < len(BAD):
            rate = None
        self.rates[word] = rate
        return cast("ReproCell", MadeUpCell(word))


def searched(servers: Servers, first_repeats: int = 5) -> tuple[FoundSettings, list[str]]:
    said: list[str] = []
    bisector = SettingsBisector(
        cast("ReproRunner", servers), servers.cell_of, said.append, first_repeats
    )
    return bisector.run(GOOD, BAD), said


@pytest.mark.parametrize("needed", [{"v7=new"}, {"v0=new"}, {"v2=new", "v9=new"}])
def test_the_variables_that_make_the_difference_are_found(needed: set[str]) -> None:
    found, said = searched(Servers(needed))
    assert {f"{each.variable}={each.bad}" for each in found.left} == needed
    assert said[0].startswith("12 variables differ; tries of ")


def test_the_answer_says_both_values() -> None:
    found, _ = searched(Servers({"v0=new"}))
    assert found.answer == "The difference is v0=new, with GOOD old."
    several, _ = searched(Servers({"v0=new", "v3=new"}))
    assert several.answer == (
        "The difference is 2 variables together: v0=new, with GOOD old; v3=new, with GOOD not set."
    )


def test_a_race_is_tried_often_enough() -> None:
    servers = Servers({"v2=new", "v9=new"}, rate=0.5)
    found, _ = searched(servers, first_repeats=20)
    assert [each.variable for each in found.left] == ["v2", "v9"]
    assert found.repeats > 10


def test_a_configuration_that_no_server_starts_with_shows_nothing() -> None:
    found, said = searched(Servers({"v7=new"}, unable="v6=new"))
    assert [each.variable for each in found.left] == ["v7"]
    assert any(line.endswith(": nobody can say: unknown") for line in said)


def test_no_configuration_is_tried_twice() -> None:
    servers = Servers({"v2=new", "v9=new"})
    found, _ = searched(servers)
    assert len({each.word for each in found.tried}) == len(found.tried)


def test_bad_that_does_not_show_the_bug_is_refused() -> None:
    with pytest.raises(SandboxError, match="BAD=bad does not show the bug"):
        searched(Servers({"v2=new", "other=new"}))

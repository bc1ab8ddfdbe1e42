"""Every command: a place of its own in `help`, one line of help, and what it says about itself."""

import pytest

from sandbox.cli.registry import COMMANDS, GROUPS, guide_of, guides

NAMES = COMMANDS.names()


def test_every_command_has_a_place_in_a_group() -> None:
    shown = [each.name for entries in guides().values() for each in entries]
    assert sorted(shown) == NAMES
    assert all(guides()[group] for group in GROUPS)


def test_no_two_commands_want_the_same_place() -> None:
    places = [(each.about.group, each.about.after) for each in map(guide_of, NAMES)]
    assert len({*places}) == len(places)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_what_an_import_gives(name: str) -> None:
    command = COMMANDS.named(name)
    module = __import__(command.__module__, fromlist=["ABOUT"])
    assert guide_of(name).about == module.ABOUT
    assert guide_of(name).text == (command.__doc__ or "").partition("\n")[0]
    assert guide_of(name).text.endswith(".")


def test_what_leaves_a_result_is_recorded() -> None:
    recorded = {name for name in NAMES if guide_of(name).about.recorded}
    assert recorded >= {"bench", "calibrate", "matrix", "smoke", "trial"}
    assert not recorded & {"up", "down", "fault", "query", "report"}

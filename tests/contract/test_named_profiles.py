"""Every file of profiles/named/: a name that is a term, and a profile that can be planned."""

import pytest

from contract import stacks
from sandbox.profile.grammar import parse

NAMED = stacks.LIBRARY.named


def test_every_file_is_read() -> None:
    assert {path.stem for path in (stacks.CHECKOUT / "profiles" / "named").glob("*")} == set(NAMED)
    assert NAMED


@pytest.mark.parametrize("name", NAMED)
def test_it_stands_for_a_profile_that_works(name: str) -> None:
    (term,) = parse(name)
    assert (term.name, term.count, term.version) == (name, None, None)
    assert name not in stacks.COMPONENTS
    help_line = NAMED[name].help
    assert help_line and "\n" not in help_line and len(help_line) <= 100
    assert stacks.plan(name).profile == NAMED[name].profile
    assert stacks.document(name)["services"]

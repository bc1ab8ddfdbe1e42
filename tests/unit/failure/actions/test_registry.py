"""Actions are found by their files, and made from names and options."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.failure.actions import promote as promote_module
from sandbox.failure.actions.common.registry import (
    action_files,
    action_help,
    action_named,
    action_names,
    action_options,
)
from sandbox.failure.actions.promote import Promote
from sandbox.failure.actions.rejoin import Rejoin


def test_every_file_is_an_action_of_its_name() -> None:
    files = {path.stem.replace("_", "-") for path in Path(promote_module.__file__).parent.glob("*.py")}
    expected = "promote rejoin rolling-restart switchover join force-quorum rolling-upgrade repair"
    assert set(action_names()) == files - {"--init--"} == {*expected.split()}
    assert action_files()["promote"] is Promote


@pytest.mark.parametrize("name", action_names())
def test_it_has_help_and_described_options(name: str) -> None:
    assert action_help(name).endswith(".") and len(action_help(name)) <= 120
    assert all(action_options(name).values())
    assert all(option.endswith("_s") or option in ("data", "to") for option in action_options(name))


def test_a_name_and_its_options_make_an_action() -> None:
    assert action_named("promote", {"after_s": "1.5"}) == Promote(after_s=1.5)
    assert action_named("rejoin") == Rejoin(wait_s=30)


@pytest.mark.parametrize(
    ("word", "options", "what", "known"),
    [
        ("promot", {}, "there is no action 'promot'", "did you mean 'promote'?"),
        ("promote", {"aftr_s": 1}, "the action promote has no option 'aftr_s'", "did you mean 'after_s'?"),
        ("switchover", {"x": 1}, "the action switchover has no option 'x'", "it has no options"),
        ("promote", {"after_s": 61}, "after_s=61 is not valid for the action promote", "at most 60"),
    ],
)
def test_what_there_is_none_of_is_refused(word: str, options: dict[str, Any], what: str, known: str) -> None:
    with pytest.raises(SandboxError) as caught:
        action_named(word, options)
    assert caught.value.what == what and known in caught.value.known
    assert caught.value.exit_code is ExitCode.BAD_INPUT and len(caught.value.lines()) == 3

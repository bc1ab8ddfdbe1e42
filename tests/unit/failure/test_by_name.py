"""Faults and actions are found by their files alone, and made from names and options as typed."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.plugin_options import help_line, option_texts, parse_options
from sandbox.core.plugins import Plugins
from sandbox.failure.action import ACTION_KINDS, action_named
from sandbox.failure.actions.promote import Promote
from sandbox.failure.actions.rejoin import Rejoin
from sandbox.failure.fault import EXAMPLE, FAULT_KINDS, fault_named, refuse_kind
from sandbox.failure.faults.graceful import Graceful
from sandbox.failure.faults.partition import Partition

PACKAGE = Path(__file__).parents[3] / "scripts" / "sandbox" / "failure"
ACTIONS = "promote rejoin rolling-restart switchover join force-quorum rolling-upgrade repair"


@pytest.mark.parametrize(("kinds", "folder"), [(FAULT_KINDS, "faults"), (ACTION_KINDS, "actions")])
def test_every_file_is_a_plugin_of_its_name(kinds: Plugins[Any], folder: str) -> None:
    files = {path.stem.replace("_", "-") for path in (PACKAGE / folder).glob("[!_]*.py")}
    assert set(kinds.names()) == files == {*kinds.every()}


def test_the_actions_are_there() -> None:
    assert {*ACTIONS.split()} <= {*ACTION_KINDS.names()}
    assert ACTION_KINDS.named("promote") is Promote


def test_a_name_and_its_options_make_a_fault() -> None:
    made = fault_named("partition", {"away_from": "proxies", "one_way": "in", "port": "3306"})
    assert made == Partition(away_from="proxies", one_way="in", port=3306)
    assert fault_named("graceful") == Graceful(grace_s=60)


def test_a_name_and_its_options_make_an_action() -> None:
    assert action_named("promote", {"after_s": "1.5"}) == Promote(after_s=1.5)
    assert action_named("rejoin") == Rejoin(wait_s=30)


def test_what_is_known_of_a_fault_without_making_it() -> None:
    assert help_line(FAULT_KINDS.named("host-loss")).startswith("The node vanishes")
    assert option_texts(FAULT_KINDS.named("hang")) == {
        "what": "what stops: every process of the container, or the server alone"
    }


@pytest.mark.parametrize("name", ACTION_KINDS.names())
def test_an_action_has_help_and_described_options(name: str) -> None:
    kind = ACTION_KINDS.named(name)
    texts = option_texts(kind)
    assert help_line(kind).endswith(".") and len(help_line(kind)) <= 120
    assert all(texts.values())
    assert all(option.endswith("_s") or option in ("data", "to") for option in texts)


@pytest.mark.parametrize(
    ("word", "options", "what", "known"),
    [
        ("hnag", {}, "there is no fault 'hnag'", "did you mean 'hang'?"),
        ("zzz", {}, "there is no fault 'zzz'", "known: bandwidth, by-hand, clock-skew, corruption"),
        ("hang", {"waht": "server"}, "the fault hang has no option 'waht'", "did you mean 'what'?"),
        ("by-hand", {"x": "1"}, "the fault by-hand has no option 'x'", "it has no options"),
        ("sql", {}, "the fault sql needs statement", "what breaks it"),
        (
            "slow-node",
            {"cpus": "few"},
            "cpus=few is not valid for the fault slow-node",
            "a number is expected",
        ),
        (
            "slow-node",
            {"cpus": 0},
            "cpus=0 is not valid for the fault slow-node",
            "at least 0.01 is expected",
        ),
        (
            "partition",
            {"one_way": "up"},
            "one_way=up is not valid for the fault partition",
            "'in' or 'out'",
        ),
    ],
)
def test_an_unknown_fault_or_option_is_refused(
    word: str, options: dict[str, Any], what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        fault_named(word, options)
    assert refused.value.what == what and known in refused.value.known
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3


@pytest.mark.parametrize(
    ("word", "options", "what", "known"),
    [
        ("promot", {}, "there is no action 'promot'", "did you mean 'promote'?"),
        (
            "promote",
            {"aftr_s": 1},
            "the action promote has no option 'aftr_s'",
            "did you mean 'after_s'?",
        ),
        (
            "switchover",
            {"x": 1},
            "the action switchover has no option 'x'",
            "it has no options",
        ),
        (
            "promote",
            {"after_s": 61},
            "after_s=61 is not valid for the action promote",
            "at most 60",
        ),
    ],
)
def test_an_unknown_action_or_option_is_refused(
    word: str, options: dict[str, Any], what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        action_named(word, options)
    assert refused.value.what == what and known in refused.value.known
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3


def test_options_are_split_as_a_shell_would() -> None:
    given = ["statement='SET GLOBAL a = 1' timeout_s=5", "heal_statement=x=y"]
    assert parse_options(given, EXAMPLE) == {
        "statement": "SET GLOBAL a = 1",
        "timeout_s": "5",
        "heal_statement": "x=y",
    }
    assert parse_options([], EXAMPLE) == {}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("port", "OPTIONS: 'port' sets nothing"),
        ("=3", "OPTIONS: '=3' sets nothing"),
        ("a='", "OPTIONS=a=' is not valid"),
    ],
)
def test_options_that_set_nothing_are_refused(text: str, what: str) -> None:
    with pytest.raises(SandboxError) as refused:
        parse_options([text], EXAMPLE)
    assert refused.value.what == what and refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_fault_hits_nodes_of_its_kinds_only() -> None:
    refuse_kind("hang", "haproxy1", "proxy")
    for kind, known in (
        ("proxy", "haproxy1 is a proxy; server-crash hits a database"),
        ("external", "it has no container here; faults that need none: by-hand, none, sql"),
    ):
        with pytest.raises(SandboxError) as refused:
            refuse_kind("server-crash", "haproxy1", kind)  # type: ignore[arg-type]
        assert known in refused.value.known
        assert refused.value.exit_code is ExitCode.BAD_INPUT
    for word in ("by-hand", "none", "sql"):
        refuse_kind(word, "external1", "external")

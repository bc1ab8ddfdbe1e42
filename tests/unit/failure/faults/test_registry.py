"""Faults are found by their files alone, and made from names and options as typed."""

import sys
from pathlib import Path
from typing import Any

import pytest

import sandbox.failure.faults
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.plugins import parse_options
from sandbox.failure.faults.common import registry
from sandbox.failure.faults.common.registry import EXAMPLE, fault_named, help_of, names, options_of, refuse_kind
from sandbox.failure.faults.graceful import Graceful
from sandbox.failure.faults.partition import Partition


def test_a_name_and_its_options_make_a_fault() -> None:
    made = fault_named("partition", {"away_from": "proxies", "one_way": "in", "port": "3306"})
    assert made == Partition(away_from="proxies", one_way="in", port=3306)
    assert fault_named("graceful") == Graceful(grace_s=60)


def test_what_is_known_of_a_fault_without_making_it() -> None:
    assert help_of("host-loss").startswith("The node vanishes")
    assert options_of("hang") == {"what": "what stops: every process of the container, or the server alone"}


@pytest.mark.parametrize(
    ("word", "options", "what", "known"),
    [
        ("hnag", {}, "there is no fault 'hnag'", "did you mean 'hang'?"),
        ("zzz", {}, "there is no fault 'zzz'", "known: bandwidth, by-hand, clock-skew, corruption"),
        ("hang", {"waht": "server"}, "the fault hang has no option 'waht'", "did you mean 'what'?"),
        ("by-hand", {"x": "1"}, "the fault by-hand has no option 'x'", "it has no options"),
        ("sql", {}, "the fault sql needs statement", "what breaks it"),
        ("slow-node", {"cpus": "few"}, "cpus=few is not valid for the fault slow-node", "a number is expected"),
        ("slow-node", {"cpus": 0}, "cpus=0 is not valid for the fault slow-node", "at least 0.01 is expected"),
        ("partition", {"one_way": "up"}, "one_way=up is not valid for the fault partition", "'in' or 'out'"),
    ],
)
def test_what_there_is_none_of_is_refused_with_what_there_is(
    word: str, options: dict[str, Any], what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        fault_named(word, options)
    assert refused.value.what == what and known in refused.value.known
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3


def test_options_are_split_as_a_shell_would() -> None:
    given = ["statement='SET GLOBAL a = 1' timeout_s=5", "heal_statement=x=y"]
    assert parse_options(given, EXAMPLE) == {"statement": "SET GLOBAL a = 1", "timeout_s": "5", "heal_statement": "x=y"}
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
        assert known in refused.value.known and refused.value.exit_code is ExitCode.BAD_INPUT
    for word in ("by-hand", "none", "sql"):
        refuse_kind(word, "external1", "external")


@pytest.mark.parametrize("content", ["", "class {0}(Fault): pass\nclass {1}(Fault): pass\n"])
def test_a_file_that_is_not_one_fault_is_an_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    text = content.format("One", "Two")
    (tmp_path / "odd_one.py").write_text(f'"""x"""\nfrom sandbox.failure.fault import Fault\n{text}')
    monkeypatch.setattr(sandbox.failure.faults, "__path__", [str(tmp_path)])
    registry.fault_files.cache_clear()
    try:
        with pytest.raises(SandboxError, match=r"faults/odd_one.py defines [02] faults") as refused:
            names()
        assert refused.value.exit_code is ExitCode.INTERNAL
    finally:
        registry.fault_files.cache_clear()
        sys.modules.pop("sandbox.failure.faults.odd_one", None)


def test_a_file_more_is_a_fault_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(sandbox.failure.faults.__path__[0]) / "by_hand.py"
    (tmp_path / "coffee_spilt.py").write_text(own.read_text())
    monkeypatch.setattr(sandbox.failure.faults, "__path__", [*sandbox.failure.faults.__path__, str(tmp_path)])
    registry.fault_files.cache_clear()
    try:
        assert "coffee-spilt" in names()
    finally:
        registry.fault_files.cache_clear()
        sys.modules.pop("sandbox.failure.faults.coffee_spilt", None)

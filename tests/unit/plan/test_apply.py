"""Settings and `SET=`: which nodes they reach, and what is refused."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import SandboxError
from sandbox.plan.apply import split_assignments
from unit.plan.small_library import plan


def holders(profile: str, setting: str) -> list[str]:
    """Nodes on which a setting is in effect."""
    return [node.name for node in plan(profile).nodes if setting in node.settings]


def test_a_setting_reaches_what_its_file_says() -> None:
    assert holders("mysql+replica+balancer+cloning", "cloning") == ["mysql1", "replica1"]
    assert holders("mysql@8.4+replica+modern", "modern") == ["mysql1"]
    assert holders("mysql+replica+late", "late") == ["replica1"]
    assert holders("mysql+balancer+fancy", "fancy") == ["balancer1"]


def test_a_setting_stays_in_its_group() -> None:
    assert holders("mysql+cloning+mysql", "cloning") == ["mysql1"]


def test_a_setting_may_stand_before_what_it_applies_to() -> None:
    assert holders("mysql+fancy+balancer", "fancy") == ["balancer1"]


def test_options_are_laid_over_the_components_key_by_key() -> None:
    assert plan("mysql+balancer+fancy").node("balancer1").options == {"mode": "fancy", "pool": {"size": 1, "idle": 5}}
    assert plan("mysql+balancer").node("balancer1").options == {"mode": "plain", "pool": {"size": 1}}


@pytest.mark.parametrize(
    ("profile", "what", "known"),
    [
        ("mysql@5.6+cloning", "does not apply to mysql1 (mysql 5.6.51)", "it works on: with clone"),
        ("mysql@8.4+replica@5.6+cloning", "does not apply to replica1", "with clone"),
        ("mysql@9.7+modern", "does not apply to mysql1", "mysql 8.0 and newer before 9.0"),
        ("cluster+modern", "does not apply to cluster1", "mysql"),
        ("mysql+late", "a group without replicas", ""),
        ("mysql+fancy", "'fancy' needs balancer in its group", "the group of 'mysql' has mysql"),
        ("mysql@8.4+cloning+modern", "'modern' and 'cloning' cannot be in the same group", "excludes cloning"),
        ("mysql@8.4+modern+cloning", "'modern' and 'cloning' cannot be in the same group", "excludes cloning"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(profile: str, what: str, known: str) -> None:
    with pytest.raises(SandboxError) as refused:
        plan(profile)
    assert what in refused.value.what
    assert known in refused.value.known


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        ("a=1", [(None, "a", "1")]),
        ("a=1 b='x y'", [(None, "a", "1"), (None, "b", "x y")]),
        ('replica:a=1 mysql2:b="$(touch x)"', [("replica", "a", "1"), ("mysql2", "b", "$(touch x)")]),
        ("a= optimizer_switch='mrr=on,mrr_cost_based=off'",
         [(None, "a", ""), (None, "optimizer_switch", "mrr=on,mrr_cost_based=off")]),
        ("", []),
    ],
)  # fmt: skip
def test_assignments_are_split_as_a_shell_would(text: str, triples: list[tuple[str | None, str, str]]) -> None:
    assert split_assignments((text,)) == triples


@pytest.mark.parametrize(
    "text", ["a", "=1", "a=1 'b", "1a=2", "a b=1", "Replica:a=1", "a='x\ny'", "a:b:c=1", "[mysqld]=1"]
)
def test_what_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(SandboxError) as refused:
        split_assignments((text,))
    assert refused.value.what.startswith("SET:")


def test_assignments_reach_all_servers_or_the_term_they_name() -> None:
    planned = plan("mysql+replica2+balancer", assignments=("a=1", "replica:b=2 replica2:c=3"))
    assert planned.node("mysql1").assignments == (("a", "1"),)
    assert planned.node("replica1").assignments == (("a", "1"), ("b", "2"))
    assert planned.node("replica2").assignments == (("a", "1"), ("b", "2"), ("c", "3"))
    assert planned.node("balancer1").assignments == ()
    assert planned.groups[0].replicas[1] is planned.node("replica2")


@pytest.mark.parametrize("target", ["replicas", "balancer", "mysql3", "client"])
def test_an_assignment_to_what_is_no_server_is_refused(target: str) -> None:
    with pytest.raises(SandboxError) as refused:
        plan("mysql+replica+balancer", assignments=(f"{target}:a=1",))
    assert "names no server" in refused.value.what


@given(
    st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,10}", fullmatch=True), st.text(max_size=20), max_size=4)
)
def test_any_value_that_fits_a_line_arrives_as_typed(pairs: dict[str, str]) -> None:
    text = " ".join(f"{name}={shlex.quote(value)}" for name, value in pairs.items())
    try:
        assert split_assignments((text,)) == [(None, name, value) for name, value in pairs.items()]
    except SandboxError:
        assert any(character in value for value in pairs.values() for character in "\r\n\0")


@given(st.text(max_size=60))
def test_any_text_is_assignments_or_three_lines(text: str) -> None:
    try:
        split_assignments((text,))
    except SandboxError as refused:
        assert len(refused.lines()) == 3

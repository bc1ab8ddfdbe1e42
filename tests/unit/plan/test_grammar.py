"""The grammar of a profile: what is a term, and what is refused in three lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.grammar import Term, parse


@pytest.mark.parametrize(
    ("profile", "terms"),
    [
        ("mysql", [Term("mysql", None, None, "mysql")]),
        ("pxc3@8.4", [Term("pxc", 3, "8.4", "pxc3@8.4")]),
        ("mysql@8.0.36-28", [Term("mysql", None, "8.0.36-28", "mysql@8.0.36-28")]),
        ("  gr3+multi-primary ", [Term("gr", 3, None, "gr3"), Term("multi-primary", None, None, "multi-primary")]),
        ("mysql@8.4+mysql@9.7", [Term("mysql", None, "8.4", "mysql@8.4"), Term("mysql", None, "9.7", "mysql@9.7")]),
    ],
)
def test_terms_are_read_left_to_right(profile: str, terms: list[Term]) -> None:
    assert parse(profile) == terms


@pytest.mark.parametrize("profile", ["mysql0", "mysql10", "mysql99+replica", "pxc12@8.4"])
def test_a_count_is_one_to_nine(profile: str) -> None:
    with pytest.raises(SandboxError) as refused:
        parse(profile)
    assert refused.value.known == "a count is 1 to 9"


@pytest.mark.parametrize(
    "profile",
    ["", "   ", "+", "mysql+", "+mysql", "mysql++replica", "MySQL", "3mysql", "mysql@", "mysql@8.4@9.7", "mysql 3",
     "a;rm -rf x", "$(touch x)", "mysql@8.4;", "-mysql", "mysql-", "x" * 501, "mysql\u0665", "mysql\x00"],
)  # fmt: skip
def test_what_is_no_term_is_refused_before_anything_starts(profile: str) -> None:
    with pytest.raises(SandboxError) as refused:
        parse(profile)
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert len(refused.value.lines()) == 3


names = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z])?", fullmatch=True)
terms = st.builds(
    lambda name, count, version: f"{name}{count or ''}{'@' + version if version else ''}",
    names,
    st.none() | st.integers(1, 9),
    st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,8}", fullmatch=True),
)


@given(st.lists(terms, min_size=1, max_size=8))
def test_every_profile_of_the_grammar_parses_to_its_own_text(pieces: list[str]) -> None:
    assert [term.text for term in parse("+".join(pieces))] == pieces


@given(st.text(max_size=600))
def test_any_text_is_terms_or_three_lines(text: str) -> None:
    try:
        assert "+".join(term.text for term in parse(text)) == text.strip()
    except SandboxError as refused:
        assert len(refused.lines()) == 3
        assert all(line and "\n" not in line for line in refused.lines())

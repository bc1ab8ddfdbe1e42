"""What a user types: terms, addresses and assignments, taken whole or refused in three lines."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.grammar import (
    ExternalAddress,
    Term,
    external_address,
    parse,
    split_assignments,
)


@pytest.mark.parametrize(
    ("profile", "terms"),
    [
        ("mysql", [Term("mysql", None, None, "mysql")]),
        ("pxc3@8.4", [Term("pxc", 3, "8.4", "pxc3@8.4")]),
        ("mysql@8.0.36-28", [Term("mysql", None, "8.0.36-28", "mysql@8.0.36-28")]),
        (
            "  gr3+multi-primary ",
            [Term("gr", 3, None, "gr3"), Term("multi-primary", None, None, "multi-primary")],
        ),
        (
            "mysql@8.4+mysql@9.7",
            [Term("mysql", None, "8.4", "mysql@8.4"), Term("mysql", None, "9.7", "mysql@9.7")],
        ),
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
    [
        "",
        "   ",
        "+",
        "mysql+",
        "+mysql",
        "mysql++replica",
        "MySQL",
        "3mysql",
        "mysql@",
        "mysql@8.4@9.7",
        "mysql 3",
        "a;rm -rf x",
        "$(touch x)",
        "mysql@8.4;",
        "-mysql",
        "mysql-",
        "x" * 501,
        "mysql\u0665",
        "mysql\x00",
    ],
)
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


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (
            "mysql://app@db.example.net:3307/shop",
            ExternalAddress("db.example.net", 3307, "app", "shop"),
        ),
        ("mysql://db", ExternalAddress("db", 3306, "root", "sbtest")),
        ("mariadb://app@[::1]:3306", ExternalAddress("::1", 3306, "app", "sbtest")),
    ],
)
def test_what_is_not_named_has_a_default(url: str, address: ExternalAddress) -> None:
    assert external_address(url) == address


@pytest.mark.parametrize(
    "url",
    ["foo", "host:3306", "mysql://", "http://host", "mysql://u@h:abc/db", "mysql://u@h:99999/db"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SandboxError, match="is not a valid address") as refused:
        external_address(url)
    assert "mysql://user@host:3306/db" in refused.value.known + refused.value.next_step


@pytest.mark.parametrize("url", ["mysql://u:S3cret@h:abc/db", "http://u:S3/cr@et@h", "u:S3cret@h"])
def test_a_password_in_an_invalid_address_is_not_printed(url: str) -> None:
    with pytest.raises(SandboxError) as refused:
        external_address(url)
    assert "S3" not in " ".join(refused.value.lines()) and "@h" in refused.value.what


def test_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(SandboxError) as refused:
        external_address("mysql://app:S3cret@db:3306/shop")
    assert (
        "S3cret" not in " ".join(refused.value.lines())
        and "EXTERNAL_PASSWORD_FILE" in refused.value.known
    )


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        ("a=1", [(None, "a", "1")]),
        ("a=1 b='x y'", [(None, "a", "1"), (None, "b", "x y")]),
        (
            'replica:a=1 mysql2:b="$(touch x)"',
            [("replica", "a", "1"), ("mysql2", "b", "$(touch x)")],
        ),
        (
            "a= optimizer_switch='mrr=on,mrr_cost_based=off'",
            [(None, "a", ""), (None, "optimizer_switch", "mrr=on,mrr_cost_based=off")],
        ),
        ("", []),
    ],
)
def test_assignments_are_split_as_a_shell_would(
    text: str, triples: list[tuple[str | None, str, str]]
) -> None:
    assert split_assignments((text,)) == triples


@pytest.mark.parametrize(
    "text",
    ["a", "=1", "a=1 'b", "1a=2", "a b=1", "Replica:a=1", "a='x\ny'", "a:b:c=1", "[mysqld]=1"],
)
def test_what_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(SandboxError) as refused:
        split_assignments((text,))
    assert refused.value.what.startswith("SET:")


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,10}", fullmatch=True),
        st.text(max_size=20),
        max_size=4,
    )
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

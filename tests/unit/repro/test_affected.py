"""Versions that a repro says are affected, judged by what a server tells."""

import pytest

from sandbox.repro.affected import check_range, expected_side, is_in, numbers_of


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("10.11.18-MariaDB-log", (10, 11, 18)),
        ("1:10.11.6-0+deb12u1", (10, 11, 6)),
        ("9.7.4", (9, 7, 4)),
        ("8.0.36-28", (8, 0, 36)),
    ],
)
def test_the_numbers_of_a_version(version: str, numbers: tuple[int, ...]) -> None:
    assert numbers_of(version) == numbers


def test_a_text_without_a_number_is_no_version() -> None:
    with pytest.raises(ValueError, match="'MariaDB' is no version"):
        numbers_of("MariaDB")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("<10.11.16", ["10.11.15", "10.5.23", "5.5"], ["10.11.16", "10.11.18", "11.4.2"]),
        ("<=10.11", ["10.11.19", "10.5.1"], ["11.0.1"]),
        (">10.11", ["11.0.1"], ["10.11.19", "10.6.1"]),
        (">=11.6.2", ["11.6.2", "11.8.9", "12.0.1"], ["11.6.1", "11.4.9"]),
        ("11.4.0 - 11.4.9", ["11.4.0", "11.4.9"], ["11.4.10", "11.3.9", "11.5.1"]),
        ("10.5 - 10.11", ["10.5.0", "10.11.19"], ["10.4.9", "11.0.0"]),
        ("9.7", ["9.7.0", "9.7.4"], ["9.6.1", "9.70.1"]),
        ("=10.11.18", ["10.11.18"], ["10.11.1", "10.11.180"]),
    ],
)
def test_a_range_has_these_versions_and_not_those(
    text: str, inside: list[str], outside: list[str]
) -> None:
    check_range(text)
    assert [version for version in [*inside, *outside] if is_in(version, text)] == inside


@pytest.mark.parametrize("text", ["", "10.x", "<10 - 11", "10.5 -", "10.5 .. 10.6", "~10"])
def test_a_text_that_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no range of versions"):
        check_range(text)


def test_what_is_expected_of_a_server() -> None:
    affected = {"mariadb": ["<10.11.16", "11.4.0 - 11.4.9"]}
    assert expected_side(affected, "mariadb", "11.4.5-MariaDB") == "bug"
    assert expected_side(affected, "mariadb", "11.8.9-MariaDB") == "fixed"
    assert expected_side(affected, "mysql", "9.7.4") is None

"""Comparing versions."""

import pytest

from sandbox.plan.versions import at_least, belongs_to, version_key


@pytest.mark.parametrize(
    ("version", "since", "expected"),
    [
        ("8.0.46", "8.0.26", True),
        ("8.0.25", "8.0.26", False),
        ("10.11", "10.5", True),
        ("10.5", "10.11", False),
        ("9.7", "9.7.1", True),
        ("8.0.36-28", "8.0.36", True),
        ("8.0.32-1.2.11-server", "8.0.33", False),
        ("v0.17.2", "0.17", True),
        ("9", "10.5", False),
    ],
)
def test_at_least_compares_numbers_as_far_as_both_go(version: str, since: str, expected: bool) -> None:
    assert at_least(version, since) is expected


@pytest.mark.parametrize(
    ("version", "series", "expected"),
    [("8.0.36-28", "8.0", True), ("8.0", "8.0", True), ("8.01", "8.0", False), ("10.11.9", "10.1", False),
     ("8.4-arm64", "8.4", True), ("v2.53.4", "2.53", True), ("vv2.53", "2.53", False)],
)  # fmt: skip
def test_an_exact_tag_belongs_to_its_series_alone(version: str, series: str, expected: bool) -> None:
    assert belongs_to(version, series) is expected


def test_versions_sort_by_number() -> None:
    assert sorted(["10.11", "10.5", "11.8", "9.7"], key=version_key) == ["9.7", "10.5", "10.11", "11.8"]

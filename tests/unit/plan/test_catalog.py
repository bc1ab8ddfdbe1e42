"""The catalog: a series, an alias or an exact tag becomes one reference, anything else is refused."""

import pytest

from sandbox.errors import ExitCode, SandboxError
from unit.plan.small_library import CATALOG

MYSQL = CATALOG.images["mysql"]


@pytest.mark.parametrize(
    ("asked", "series", "version"),
    [
        (None, "9.7", "9.7.2"),
        ("8.4", "8.4", "8.4.11"),
        ("lts", "8.4", "8.4.11"),
        ("8.0.36-28", "8.0", "8.0.36-28"),
        ("8.4.0", "8.4", "8.4.0"),
    ],
)
def test_what_is_asked_for_becomes_a_series_and_an_exact_version(asked: str | None, series: str, version: str) -> None:
    assert MYSQL.resolve("mysql", asked) == (series, version)


@pytest.mark.parametrize("asked", ["8.1", "8", "80", "11.8", "latest", "8.04", "8..4", "lts.1"])
def test_an_unknown_series_is_refused_with_the_known_ones(asked: str) -> None:
    with pytest.raises(SandboxError) as refused:
        MYSQL.resolve("mysql", asked)
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert asked in refused.value.what
    assert "mysql@9.7" in refused.value.next_step


def test_a_tag_that_only_another_repository_has_comes_from_there() -> None:
    assert MYSQL.published_reference("8.0", "8.0.32-1.2.11") == "mysql/mysql-server:8.0.32-1.2.11"
    assert MYSQL.published_reference("8.0", "8.0.46") == "mysql:8.0.46"


def test_what_is_only_built_here_has_no_published_reference() -> None:
    assert CATALOG.images["client"].published_reference("1", "1") is None


@pytest.mark.parametrize(
    ("version", "expected"), [("8.0.16", False), ("8.0.17", True), ("9.7.2", True), ("5.6.51", False)]
)
def test_a_capability_counts_from_its_version_on(version: str, expected: bool) -> None:
    assert MYSQL.has("clone", version) is expected
    assert not MYSQL.has("flying", version)

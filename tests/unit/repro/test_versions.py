"""The profiles of a repro in other versions, and the versions between two of them."""

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.images import Availability
from sandbox.profile.reader import load_library
from sandbox.repro.bisecting import versions_between
from sandbox.repro.versions import in_version, server_term, variants_of

LIBRARY = load_library()
HERE = Availability(
    local=frozenset({"sandbox/mariadb:10.5-bullseye", "sandbox/mariadb:11.8-trixie"})
)
NOWHERE = Availability()


@pytest.mark.parametrize(
    ("profile", "changed"),
    [
        ("mariadb", "mariadb@10.11"),
        ("galera3+haproxy", "galera3@10.11+haproxy"),
        ("galera3@11.8+replica1", "galera3@10.11+replica1"),
        ("mariadb+replica1+semisync", "mariadb@10.11+replica1+semisync"),
        ("mariadb+mariadb+replica1@11.8", "mariadb@10.11+mariadb@10.11+replica1@11.8"),
    ],
)
def test_every_term_of_the_first_servers_kind_has_the_version(profile: str, changed: str) -> None:
    assert in_version(profile, "10.11", LIBRARY) == changed


def test_a_profile_without_a_server_is_refused() -> None:
    with pytest.raises(SandboxError, match="has no server whose version"):
        server_term("haproxy", LIBRARY)


def test_versions_that_are_asked_for_are_rows_in_their_order() -> None:
    found = variants_of("galera3", ["11.8", "10.11.18"], LIBRARY, NOWHERE)
    assert [(each.version, each.profile) for each in found] == [
        ("11.8", "galera3@11.8"),
        ("10.11.18", "galera3@10.11.18"),
    ]


def test_a_version_of_no_series_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"no series for version '7\.7'"):
        variants_of("galera3", ["7.7"], LIBRARY, NOWHERE)


def test_without_versions_it_is_every_series_that_can_be_here_the_oldest_first() -> None:
    found = [each.version for each in variants_of("mariadb", [], LIBRARY, HERE)]
    assert found == ["10.5", "10.11", "11.8"]


def test_a_profile_with_a_version_of_its_own_stays_as_it_is() -> None:
    (only,) = variants_of("mariadb@10.5+replica1@11.8", [], LIBRARY, HERE)
    assert only.profile == "mariadb@10.5+replica1@11.8"


def test_between_two_versions_are_the_exact_ones_that_can_be_had() -> None:
    term = server_term("galera3", LIBRARY)
    found = versions_between(term, "10.5", "11.8", LIBRARY, HERE)
    assert (found[0], found[-1]) == ("10.5", "11.8")
    assert {"10.11.18", "10.11.19"} <= set(found)
    assert found[1:-1] == sorted(found[1:-1], key=lambda text: [int(n) for n in text.split(".")])


def test_from_a_newer_one_that_is_good_the_order_is_the_other_one() -> None:
    term = server_term("galera3", LIBRARY)
    found = versions_between(term, "10.11.19", "10.5", LIBRARY, HERE)
    assert found[0] == "10.11.19" and found[-1] == "10.5" and "10.11.18" in found


def test_the_release_notes_of_an_exact_version() -> None:
    images = LIBRARY.catalog.images
    assert str(images["mysql"].notes_of("9.7.4")).endswith("/mysql/9.7/en/news-9-7-4.html")
    assert str(images["mariadb"].notes_of("10.11.19")).endswith("mariadb-10-11-19-release-notes/")
    assert images["mysql"].notes_of("9.7") is None
    assert images["haproxy"].notes_of("3.0.11") is None

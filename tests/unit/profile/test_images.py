"""Images: versions resolved and compared, and the one that a node gets."""

import json
from collections.abc import Mapping

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.alternatives import series_versions
from sandbox.profile.compose import compose_document, inputs
from sandbox.profile.images import Availability, ImageChoice, Lock, choose_image
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan
from sandbox.profile.templates import PLACEHOLDER
from sandbox.profile.versions import at_least, belongs_to, version_key
from unit.profile.small_library import CATALOG, plan

BUILT = "sandbox/mysql:9.7-sid"


def chosen(
    key: str,
    asked: str | None = None,
    *,
    local: tuple[str, ...] = (),
    registry: bool = False,
    lock: Lock | None = None,
    packages: Mapping[str, str] | None = None,
) -> ImageChoice:
    """The image of a key on a machine that has these references and, or not, a registry.

    ``packages``: images built here, by reference, with their package versions.
    """
    built = packages or {}
    here = frozenset({*local, *built})
    return choose_image(
        CATALOG, key, asked, Availability(here, lambda: registry, lock or Lock(), built)
    )


def test_a_published_image_that_is_here_comes_first() -> None:
    choice = chosen("mysql", local=("mysql:9.7.2", "sandbox/mysql:9.7-sid"), registry=True)
    assert (choice.reference, choice.source, choice.origin) == ("mysql:9.7.2", "local", "published")


def test_a_built_image_that_is_here_comes_before_the_registry() -> None:
    choice = chosen("mysql", local=("sandbox/mysql:9.7-sid",), registry=True)
    assert (choice.reference, choice.source, choice.origin) == (
        "sandbox/mysql:9.7-sid",
        "local",
        "built",
    )


def test_what_is_not_here_is_pulled_else_built_else_cannot_be_had() -> None:
    assert chosen("mysql", registry=True).source == "pull"
    assert chosen("mysql").source == "build"
    refused = chosen("mysql", "8.4")
    assert (refused.reference, refused.source) == ("mysql:8.4.11", "unavailable")


def test_the_registry_is_asked_only_where_it_matters() -> None:
    def never() -> bool:
        raise AssertionError("the registry was asked")

    here = Availability(frozenset({"mysql:9.7.2"}), never)
    assert choose_image(CATALOG, "mysql", None, here).source == "local"
    assert choose_image(CATALOG, "client", None, here).source == "build"


def test_a_locked_digest_is_honoured() -> None:
    lock = Lock(published={"mysql:8.4.11": "sha256:abc"})
    assert chosen("mysql", "8.4", registry=True, lock=lock).reference == "mysql:8.4.11@sha256:abc"
    assert (
        chosen("mysql", "8.4", local=("mysql:8.4.11",), lock=lock).reference
        == "mysql:8.4.11@sha256:abc"
    )


def test_a_locked_build_is_honoured() -> None:
    lock = Lock(built={"sandbox/mysql:9.7-sid": "sandbox/mysql:9.7.4-2-sid"})
    assert chosen("mysql", lock=lock).reference == "sandbox/mysql:9.7.4-2-sid"


def test_a_pinned_build_that_is_not_here_is_built_in_its_own_package_version() -> None:
    lock = Lock(built={BUILT: "sandbox/mysql:9.7.4-2-sid"})
    pinned = chosen("mysql", lock=lock)
    assert (pinned.source, pinned.package, pinned.version) == ("build", "9.7.4-2", "9.7.4")


def test_an_exact_version_is_served_by_an_image_of_that_version_alone() -> None:
    exact = "sandbox/mysql:9.7.4-2-sid"
    here = {BUILT: "9.7.4-2", exact: "9.7.4-2", "sandbox/mysql:9.7.01-2-sid": "9.7.01-2"}
    assert chosen("mysql", "9.7.4", packages=here).reference == exact
    assert chosen("mysql", "9.7.1", packages=here).source == "unavailable"
    assert chosen("mysql", "9.7.0", packages=here).source == "unavailable"


def test_a_series_that_was_built_is_not_the_catalogs_current_version_of_it() -> None:
    """Asked for 9.7.2, nobody gets the 9.7.4 that the series has here."""
    here = {BUILT: "9.7.4-2", "sandbox/mysql:9.7.4-2-sid": "9.7.4-2"}
    refused = chosen("mysql", "9.7.2", packages=here)
    assert (refused.reference, refused.source) == ("mysql:9.7.2", "unavailable")
    assert chosen("mysql", "9.7.2", packages=here, registry=True).source == "pull"
    assert chosen("mysql", "9.7", packages=here).reference == BUILT


@pytest.mark.parametrize(
    ("packages", "version"),
    [({BUILT: "9.7.4-2"}, "9.7.4"), ({BUILT: "1:9.7.6+ds-0+deb13u1"}, "9.7.6"), ({}, "9.7.4")],
)
def test_a_built_series_has_the_version_of_its_package(
    packages: dict[str, str], version: str
) -> None:
    """Before it is built: the newest package that the catalog knows in its suite, never the
    published version.
    """
    assert chosen("mysql", "9.7", packages=packages).version == version


def test_a_built_image_whose_package_is_unknown_has_no_version_but_its_series() -> None:
    assert chosen("mysql", "9.7", local=(BUILT,)).version == "9.7"


def test_a_package_with_a_numbering_of_its_own_gives_no_version() -> None:
    assert chosen("client", packages={"sandbox/client:1-bookworm": "20.0.20+ds-5"}).version == "1"


@pytest.mark.parametrize(
    ("asked", "reference", "package", "version"),
    [
        ("9.7.4", "sandbox/mysql:9.7.4-2-sid", "9.7.4-2", "9.7.4"),
        ("9.7.4-2", "sandbox/mysql:9.7.4-2-sid", "9.7.4-2", "9.7.4"),
        ("9.7.4-1", "sandbox/mysql:9.7.4-1-experimental", "9.7.4-1", "9.7.4"),
        ("9.7.3", "sandbox/mysql:9.7.3-ds-1-forky", "1:9.7.3+ds-1", "9.7.3"),
        ("9.7.3-ds-1", "sandbox/mysql:9.7.3-ds-1-forky", "1:9.7.3+ds-1", "9.7.3"),
    ],
)
def test_an_exact_version_is_built_from_the_package_that_has_it(
    asked: str, reference: str, package: str, version: str
) -> None:
    """A tag that nobody is known to have published is not tried at a registry first."""
    for registry in (False, True):
        choice = chosen("mysql", asked, registry=registry)
        assert (choice.reference, choice.source, choice.origin) == (reference, "build", "built")
        assert (choice.package, choice.version, choice.exact) == (package, version, asked)


def test_of_two_packages_of_one_version_the_one_asked_for_is_taken() -> None:
    here = {"sandbox/mysql:9.7.4-1-experimental": "9.7.4-1", "sandbox/mysql:9.7.4-2-sid": "9.7.4-2"}
    assert chosen("mysql", "9.7.4", packages=here).reference == "sandbox/mysql:9.7.4-2-sid"
    assert (
        chosen("mysql", "9.7.4-1", packages=here).reference == "sandbox/mysql:9.7.4-1-experimental"
    )
    only = {"sandbox/mysql:9.7.4-1-experimental": "9.7.4-1"}
    assert chosen("mysql", "9.7.4", packages=only).source == "local", "it is that version"


def test_an_unknown_tag_of_a_known_series_is_pulled() -> None:
    assert chosen("mysql", "8.4.99", registry=True).source == "pull"
    assert chosen("mysql", "9.7.99", registry=True).source == "pull"
    assert chosen("mysql", "9.7.99").source == "unavailable"


def test_what_there_is_of_a_series() -> None:
    available = Availability(
        frozenset({"mysql:9.7.1", "mysql:9.7", "mysql:8.4.11", "other:9.7.9", BUILT}),
        packages={
            BUILT: "9.7.4-2",
            "sandbox/mysql:9.7.4-1-experimental": "9.7.4-1",
            "sandbox/router:9.7.1-1": "9.7.1-1",
        },
    )
    found = series_versions(CATALOG, "mysql", "9.7", available)
    assert found.here == ("9.7.4-1", "9.7.4", "9.7.1")
    assert found.published == ("9.7.2",)
    assert found.buildable == ("9.7.4-1", "9.7.4", "9.7.3")
    assert series_versions(CATALOG, "mysql", "8.0", available).published == (
        "8.0.46",
        "8.0.32-1.2.11",
    )
    client = series_versions(
        CATALOG, "client", "1", Availability(frozenset({"sandbox/client:1-bookworm"}))
    )
    assert (client.here, client.published, client.buildable) == (("1",), (), ("1",))


def images_of(planned: Plan) -> dict[str, tuple[str, str, str]]:
    """Node → (reference, source, origin)."""
    return {
        node.name: (node.image, node.choice.source, node.choice.origin) for node in planned.nodes
    }


def test_an_image_of_the_users_own_takes_the_place_of_the_databases() -> None:
    planned = plan("mysql@8.4+replica2+balancer", images=("sha256:1",))
    found = images_of(planned)
    assert {found[name] for name in ("mysql1", "replica1", "replica2")} == {
        ("sha256:1", "local", "given")
    }
    assert "given" not in (found["balancer1"][2], found["client1"][2])
    assert planned.node("mysql1").version == "8.4.11", "the profile says which contract it honours"
    assert planned.groups[0].databases[0].image == "sha256:1"


def test_a_server_of_another_version_keeps_its_own() -> None:
    found = images_of(plan("mysql@8.4+replica@9.7", images=("sha256:1",)))
    assert found["mysql1"][2] == "given" and found["replica1"][2] != "given"


def test_a_tag_that_is_not_here_is_pulled_where_a_registry_answers() -> None:
    lonely = plan("mysql", Availability(), images=("mine:1",))
    assert "mysql1" in [node.name for node in lonely.unavailable()]
    assert images_of(plan("mysql", images=("mine:1",)))["mysql1"] == ("mine:1", "pull", "given")
    here = Availability(frozenset({"mine:1"}), lambda: True)
    assert images_of(plan("mysql", here, images=("mine:1",)))["mysql1"] == (
        "mine:1",
        "local",
        "given",
    )


def test_an_image_is_named_in_the_label_and_is_part_of_the_plan() -> None:
    planned = plan("mysql", images=("sha256:1",))
    assert inputs(planned)["image"] == "sha256:1" and "image" not in inputs(plan("mysql"))
    document = compose_document(planned, PLACEHOLDER, Identity("p", "/here"))
    assert document["services"]["mysql1"]["image"] == "sha256:1"
    assert (
        json.loads(document["services"]["mysql1"]["labels"]["sandbox.about"])["origin"] == "given"
    )


def test_an_image_needs_a_server_that_it_can_replace() -> None:
    with pytest.raises(SandboxError, match="IMAGE=mine:1 replaces nothing"):
        plan("external", external="mysql://user@host:3306/db", images=("mine:1",))


MYSQL = CATALOG.images["mysql"]


@pytest.mark.parametrize(
    ("asked", "series", "version"),
    [
        (None, "9.7", None),
        ("8.4", "8.4", None),
        ("lts", "8.4", None),
        ("8.0.36-28", "8.0", "8.0.36-28"),
        ("8.4.0", "8.4", "8.4.0"),
        ("8.4.11", "8.4", "8.4.11"),
    ],
)
def test_what_is_asked_for_is_a_series_or_an_exact_version_of_one(
    asked: str | None, series: str, version: str | None
) -> None:
    assert MYSQL.resolve("mysql", asked) == (series, version)


@pytest.mark.parametrize("asked", ["8.1", "8", "80", "11.8", "latest", "8.04", "8..4", "lts.1"])
def test_an_unknown_series_is_refused_with_the_known_ones(asked: str) -> None:
    with pytest.raises(SandboxError) as refused:
        MYSQL.resolve("mysql", asked)
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert asked in refused.value.what
    assert "mysql@9.7" in refused.value.next_step


@pytest.mark.parametrize(
    ("tag", "repository"),
    [
        ("8.0.32-1.2.11", "mysql/mysql-server"),
        ("8.0.41-1.2.11-server", "mysql/mysql-server"),
        ("8.0.46", "mysql"),
        ("8.0.32", "mysql"),
        ("8.0.36-28", "mysql"),
        ("8.0.36-debian", "mysql"),
    ],
)
def test_any_tag_of_another_repositorys_shape_comes_from_there(tag: str, repository: str) -> None:
    assert MYSQL.published_reference("8.0", tag) == f"{repository}:{tag}"


def test_what_is_only_built_here_has_no_published_reference() -> None:
    assert CATALOG.images["client"].published_reference("1", "1") is None


@pytest.mark.parametrize(
    ("version", "expected"),
    [("8.0.16", False), ("8.0.17", True), ("9.7.2", True), ("5.6.51", False)],
)
def test_a_capability_counts_from_its_version_on(version: str, expected: bool) -> None:
    assert MYSQL.has("clone", version) is expected
    assert not MYSQL.has("flying", version)


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
def test_at_least_compares_numbers_as_far_as_both_go(
    version: str, since: str, expected: bool
) -> None:
    assert at_least(version, since) is expected


@pytest.mark.parametrize(
    ("version", "series", "expected"),
    [
        ("8.0.36-28", "8.0", True),
        ("8.0", "8.0", True),
        ("8.01", "8.0", False),
        ("10.11.9", "10.1", False),
        ("8.4-arm64", "8.4", True),
        ("v2.53.4", "2.53", True),
        ("vv2.53", "2.53", False),
    ],
)
def test_an_exact_tag_belongs_to_its_series_alone(
    version: str, series: str, expected: bool
) -> None:
    assert belongs_to(version, series) is expected


def test_versions_sort_by_number() -> None:
    assert sorted(["10.11", "10.5", "11.8", "9.7"], key=version_key) == [
        "9.7",
        "10.5",
        "10.11",
        "11.8",
    ]

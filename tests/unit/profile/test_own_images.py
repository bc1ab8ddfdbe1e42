"""Images of the user's own: which nodes they are for, what they say of themselves, what is refused
of them.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.compose import inputs, plan_hash
from sandbox.profile.data_directory import base_requests, data_request
from sandbox.profile.given import ImageAnswer, given_images
from sandbox.profile.images import Availability
from sandbox.profile.plan import Plan
from sandbox.profile.reader import load_library
from unit.profile.small_library import ONLINE, SMALL, plan

SERVER = "mysqld  Ver 8.4.9-debug for Linux on x86_64 (Source distribution)"
PROXY = "Proxy version 3.2.26-1 2026/11/01"


def asked(**images: ImageAnswer) -> Availability:
    """An engine that has images of these names."""
    return replace(ONLINE, ask=images.get)


def server(line: str = SERVER, identity: str = "sha256:1", user: str | None = None) -> ImageAnswer:
    """An image with a server that prints this line."""
    return ImageAnswer(identity, {"mysqld --version": line}, user)


def images_of(made: Plan) -> dict[str, tuple[str, str]]:
    """Node → (image, version) of those with an image of the user's own."""
    return {
        node.name: (node.image, node.version)
        for node in made.nodes
        if node.choice.origin == "given"
    }


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("mine:1",), {None: "mine:1"}),
        (("a=mine:1 b='g.io/p@sha256:ab'",), {"a": "mine:1", "b": "g.io/p@sha256:ab"}),
        (("mysql@9.7=a", "mysql@9.7=b"), {"mysql@9.7": "b"}),
        ((), {}),
    ],
)  # fmt: skip
def test_words_and_references(texts: tuple[str, ...], found: dict[str | None, str]) -> None:
    assert given_images(texts) == found


@pytest.mark.parametrize("text", ["mysql=", "=mine:1", "'mine:1", "mysql=a=b:", "mysql=-x", "."])
def test_what_names_no_image_is_three_lines(text: str) -> None:
    with pytest.raises(SandboxError, match=r"^IMAGE: .* names no image") as refused:
        given_images((text,))
    assert len(refused.value.lines()) == 3 and refused.value.exit_code is ExitCode.BAD_INPUT


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("mysql=own", {"mysql1", "replica1"}),
        ("mysql@9.7=own", {"mysql1", "replica1"}),
        ("mysql1=own", {"mysql1", "replica1"}),
        ("replica=own", {"replica1"}),
        ("replica1=own mysql=own", {"mysql1", "replica1"}),
        ("own", {"mysql1", "replica1"}),
    ],
)
def test_an_image_is_for_the_nodes_of_its_word(text: str, nodes: set[str]) -> None:
    own = asked(own=server("mysqld  Ver 9.7.9 for Linux"))
    made = plan("mysql@9.7+replica1+balancer", own, images=(text,))
    assert images_of(made) == dict.fromkeys(nodes, ("own", "9.7.9"))
    assert {node.name: node for node in made.groups[0].servers}["replica1"].image == "own" or (
        "replica1" not in nodes
    )


def test_a_replica_with_a_version_of_its_own_keeps_its_image() -> None:
    made = plan("mysql+replica@8.0", asked(own=server()), images=("mysql=own",))
    assert set(images_of(made)) == {"mysql1"}


def test_a_node_wins_over_its_term_and_does_not_lead_its_replicas() -> None:
    own = asked(own=server(), other=server(identity="sha256:2"))
    made = plan("cluster+replica1", own, images=("cluster=own cluster2=other",))
    assert {name: image for name, (image, _) in images_of(made).items()} == {
        "cluster1": "own",
        "cluster2": "other",
        "cluster3": "own",
    }


def test_an_auxiliary_node_has_a_word_of_its_own() -> None:
    made = plan("mysql+balancer", asked(own=server()), images=("checker=own",))
    assert images_of(made) == {"checker1": ("own", "1")}, "its program is not asked"


def test_the_version_that_an_image_reports_decides_what_applies() -> None:
    own = asked(own=server())
    made = plan("mysql+modern", own, images=("mysql=own",))
    node = made.node("mysql1")
    assert (node.version, node.series, node.settings) == ("8.4.9", "8.4", frozenset({"modern"}))
    with pytest.raises(SandboxError, match="does not apply to mysql1"):
        plan("mysql+modern", own)


def test_a_series_that_the_catalog_does_not_have_is_its_first_two_numbers() -> None:
    own = asked(own=server("mysqld  Ver 12.1.0-alpha for Linux"))
    made = plan("mysql", own, images=("mysql=own",))
    assert (made.node("mysql1").series, made.node("mysql1").version) == ("12.1", "12.1.0")
    assert set(base_requests(made, SMALL)) <= {"mysql1"}


def test_the_user_of_the_image_reads_its_files() -> None:
    own = asked(own=ImageAnswer("sha256:1", {"proxy -v": PROXY}, "101:101"))
    made = plan("mysql+balancer", own, images=("balancer=own",))
    node = made.node("balancer1")
    assert (node.uid, node.version, node.series) == ("101", "3.2.26-1", "3.2")
    made = plan("mysql", asked(own=server(user="101:101")), images=("mysql=own",))
    assert made.node("mysql1").uid == "999", "the fragment says as whom it starts"


def test_a_proxy_of_another_product_is_refused() -> None:
    own = asked(own=ImageAnswer("sha256:1", {"proxy -v": PROXY}))
    with pytest.raises(SandboxError) as refused:
        plan("mysql+balancer", own, images=("mysql=own",))
    assert refused.value.lines() == [
        "IMAGE: own is no image of mysql",
        f"it says: {PROXY}",
        "try: make plan PROFILE=proxy IMAGE=proxy=own",
    ]
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_an_image_without_the_program_is_refused() -> None:
    own = asked(own=ImageAnswer("sha256:1", {}))
    with pytest.raises(SandboxError) as refused:
        plan("mysql", own, images=("own",))
    assert refused.value.known == "`mysqld --version` gives no version in it"
    assert refused.value.next_step == "try: docker run --rm --entrypoint mysqld own --version"


@pytest.mark.parametrize(
    ("key", "line", "refused_as"),
    [
        ("mysql", "mysqld  Ver 9.7.4 for Linux on x86_64 ((Debian))", None),
        ("mysql", "mysqld  Ver 8.4.10-10 for Linux (Percona Server (GPL), Release 10)", "ps"),
        ("ps", "mysqld  Ver 8.4.10-10 for Linux (Percona Server (GPL), Release 10)", None),
        ("ps", "mysqld  Ver 8.4.10-10 for Linux on x86_64 (Source distribution)", None),
        ("ps", "mysqld  Ver 8.4.5-5.1 for Linux (Percona XtraDB Cluster (GPL))", "pxc"),
        ("mysql", "mysqld  Ver 10.11.6-MariaDB for debian-linux-gnu", "mariadb"),
    ],
)
def test_products_of_the_catalog(key: str, line: str, refused_as: str | None) -> None:
    from sandbox.profile.plan import PlanRequest
    from sandbox.profile.planner import make_plan

    own: Callable[[str], ImageAnswer | None] = {"own": server(line)}.get
    request = PlanRequest(key, images=(f"{key}=own",))
    available = replace(ONLINE, ask=own)
    if refused_as is None:
        assert images_of(make_plan(request, load_library(), available))
        return
    with pytest.raises(SandboxError) as refused:
        make_plan(request, load_library(), available)
    assert refused.value.next_step == f"try: make plan PROFILE={refused_as} IMAGE={refused_as}=own"


@pytest.mark.parametrize(
    ("profile", "image", "fits"),
    [
        ("mysql@8.4", "mysql=own", True),
        ("mysql@lts", "mysql=own", True),
        ("mysql@8.4.9", "mysql=own", True),
        ("mysql@9.7", "mysql=own", False),
        ("mysql@8.4.11", "mysql=own", False),
        ("mysql@9.7", "mysql1=own", True),
        ("mysql@9.7", "own", True),
    ],
)
def test_a_version_that_the_image_does_not_have_is_refused(
    profile: str, image: str, fits: bool
) -> None:
    own = asked(own=server())
    if fits:
        assert images_of(plan(profile, own, images=(image,)))
        return
    with pytest.raises(SandboxError, match=r"own has version 8\.4\.9, 'mysql@.*' asks") as refused:
        plan(profile, own, images=(image,))
    assert refused.value.next_step == "try: make plan PROFILE=mysql IMAGE=mysql=own"


def test_a_word_of_no_node_is_refused_with_the_nearest() -> None:
    with pytest.raises(SandboxError, match="'balancr=own' names no node") as refused:
        plan("mysql+balancer", asked(own=server()), images=("balancr=own",))
    assert "balancer" in refused.value.known


def test_another_image_under_one_name_is_another_plan() -> None:
    first = plan("mysql", asked(own=server()), images=("mysql=own",))
    again = plan("mysql", asked(own=server(identity="sha256:2")), images=("mysql=own",))
    assert plan_hash(first) != plan_hash(again)
    assert inputs(first)["image"] == "mysql=own" == inputs(again)["image"]


def test_data_and_base_directories_are_made_by_the_same_images() -> None:
    own = asked(own=server(), p=ImageAnswer("sha256:3", {"proxy -v": PROXY}))
    made = plan("mysql+balancer", own, images=("mysql=own balancer=p",))
    if request := data_request(made):
        assert request.images == ("mysql1=own",), "without the proxy's"


def test_sources_of_what_is_not_here() -> None:
    here = replace(Availability(), ask=lambda _: None)

    def source(reference: str, available: Availability) -> str:
        return plan("mysql", available, images=(f"mysql={reference}",)).node("mysql1").choice.source

    assert source("sha256:" + "a" * 64, here) == "unavailable"
    assert source("mine:1", here) == "unavailable"
    assert source("ghcr.io/me/mysql:1", here) == "pull"
    assert source("localhost:5000/mysql:1", here) == "pull"
    assert source("mine:1", replace(here, registry=lambda: True)) == "pull"

"""Refusals: the profile that each of them proposes is planned, whatever is refused."""

import random
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from contract import stacks
from sandbox.core.errors import SandboxError
from sandbox.failure.fault import SETTING_OF
from sandbox.load.common.registry import WORKLOAD_KINDS, resolve_workload
from sandbox.load.common.workload import refuse_unfit
from sandbox.profile import planner
from sandbox.profile.grammar import external_address
from sandbox.profile.images import Availability
from sandbox.profile.limits import check_limits
from sandbox.profile.plan import PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.refusal import NEXT_STEP

LIBRARY = load_library(stacks.CHECKOUT)
OPENING = [
    name
    for name in stacks.COMPONENTS
    if stacks.component(name).spec.attaches is None and name != "client"
]
ONE_OF_EACH_KIND = ["mysql", "mariadb", "galera", "gr", "external"]
ATTACHED = [
    name for name in stacks.COMPONENTS if stacks.component(name).spec.attaches and name != "client"
]
FOLLOWING = [*ATTACHED, *LIBRARY.settings]
PROPOSED = re.compile(
    r"PROFILE=(?P<profile>\S+)(?: EXTERNAL=(?P<external>\S+))?(?: MEMORY=(?P<memory>\S+))?"
)


@pytest.fixture(autouse=True, scope="module")
def _planned_once() -> Iterator[None]:
    """Whether a request plans is found out once: the searches for a proposal try the same few again
    and again.
    """
    refused: dict[PlanRequest, SandboxError | None] = {}
    original = planner._planned

    def planned(request: PlanRequest, *given: Any) -> Any:
        if request not in refused:
            refused[request] = None
            try:
                original(request, *given)
            except SandboxError as why:
                refused[request] = why
        problem = refused[request]
        if problem:
            raise problem.with_traceback(None)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(planner, "_planned", planned)
        yield
    for refusal in refused.values():
        if refusal:  # else all the frames that it went through stay, for the garbage collector
            refusal.__traceback__ = refusal.__context__ = None


def refusal(request: PlanRequest) -> SandboxError | None:
    """Why a request is refused where every published image can be had, or None."""
    try:
        make_plan(request, LIBRARY, Availability(registry=lambda: True))
    except SandboxError as refused:
        return refused
    return None


def assert_plans(step: str) -> None:
    """Fails for a next step whose profile is refused itself."""
    proposed = PROPOSED.search(step)
    assert proposed, step
    again = refusal(
        PlanRequest(proposed["profile"], external=proposed["external"], memory=proposed["memory"])
    )
    assert again is None, f"{step}: {again}"


def next_step(request: PlanRequest) -> str | None:
    """The next step of a refusal, which plans if it is a profile; None where nothing is refused."""
    refused = refusal(request)
    if refused is None:
        return None
    if refused.next_step != NEXT_STEP:
        assert_plans(refused.next_step)
    return refused.next_step


def step_of(profile: str) -> str | None:
    """The next step where a profile is refused, None where it is not."""
    return next_step(
        PlanRequest(profile, external=stacks.EXTERNAL if "external" in profile else None)
    )


SHARES = pytest.mark.parametrize(
    "share",
    [pytest.param(0.1, id="a-tenth"), pytest.param(1.0, id="all", marks=pytest.mark.long)],
)
"""The long run tries every pair, any other run a tenth, drawn anew."""


def drawn(pairs: Iterable[tuple[str, str]], share: float) -> list[tuple[str, str]]:
    """So many of the pairs; a failure names the one that it found."""
    every = [*pairs]
    return random.SystemRandom().sample(every, round(share * len(every)))


@SHARES
@pytest.mark.parametrize("database", ONE_OF_EACH_KIND)
def test_of_any_two_terms_that_are_refused_a_profile_that_plans_is_proposed(
    database: str, share: float
) -> None:
    for first, second in drawn(product(FOLLOWING, FOLLOWING), share):
        assert step_of(f"{database}+{first}+{second}") != NEXT_STEP, f"{database}+{first}+{second}"


@SHARES
@pytest.mark.parametrize(
    "behind", ["mysql+replica+proxysql", "mariadb+replica+maxscale", "gr+router", "galera+proxysql"]
)
def test_of_any_two_settings_behind_what_they_need_the_same(behind: str, share: float) -> None:
    for first, second in drawn(combinations_with_replacement(LIBRARY.settings, 2), share):
        profile = f"{behind}+{first}+{second}"
        assert step_of(profile) != NEXT_STEP, profile


@pytest.mark.parametrize("term", [*OPENING, *FOLLOWING])
def test_a_count_or_a_version_that_a_term_cannot_have(term: str) -> None:
    for form in (
        f"{term}2",
        f"{term}0",
        f"{term}12",
        f"{term}@0.1",
        f"{term}2@0.1",
        term.upper(),
        f"{term}:x",
    ):
        for profile in (
            form,
            f"mysql+{form}",
            f"mariadb3+{form}",
            f"gr3+{form}",
            f"{form}+haproxy",
        ):
            step_of(profile)


@pytest.mark.parametrize("database", stacks.databases())
def test_a_version_that_an_attached_term_or_a_setting_does_not_work_with(database: str) -> None:
    series = LIBRARY.catalog.images[stacks.component(database).spec.image or database].series
    for version, following in product(series, [*FOLLOWING, "replica+mha", "maxscale+multiplexing"]):
        profile = f"{database}@{version}+{following}"
        assert step_of(profile) != NEXT_STEP, profile


@pytest.mark.parametrize(
    ("profile", "proposed"),
    [
        ("mysql@9.7+proxysql+fast-forward+multiplexing", "mysql@9.7+proxysql+fast-forward"),
        (
            "mysql@9.7+replica2+proxysql+multiplexing+fast-forward",
            "mysql@9.7+replica2+proxysql+fast-forward",
        ),
        ("pxc3+mha", "mariadb+replica+mha"),
        ("mha", "mariadb+replica+mha"),
        ("mysql+readconnroute", "mysql@8.0+maxscale+readconnroute"),
        ("galera3+haproxy+multiplexing", "galera3+proxysql+multiplexing"),
        ("mysql@8.4+threadpool", "mysql@9.7+threadpool"),
        ("mysql@5.6+clone", "gr+clone"),
        ("galera3+proxysqll", "galera3+proxysql"),
    ],
)
def test_a_proposal_keeps_what_was_asked_for(profile: str, proposed: str) -> None:
    assert step_of(profile) == f"try: make plan PROFILE={proposed}"


def test_where_nothing_is_like_it_the_next_step_lists_the_terms() -> None:
    assert step_of("blah") == NEXT_STEP


def test_variables_that_are_refused_come_with_a_profile_that_plans() -> None:
    assert next_step(PlanRequest("mysql", external=stacks.EXTERNAL))
    assert next_step(PlanRequest("external"))
    assert next_step(PlanRequest("mysql+galera3", memory="1m"))
    assert next_step(PlanRequest("external", external=stacks.EXTERNAL, images=("some:image",)))


@pytest.mark.parametrize(
    "call",
    [
        partial(external_address, "http://host"),
        partial(check_limits, "x", None),
        partial(check_limits, "0", None),
        partial(check_limits, None, "x"),
        partial(check_limits, None, None, disk="ext4:1m"),
    ],
)
def test_limits_and_addresses_that_are_refused_come_with_one(call: Callable[[], object]) -> None:
    with pytest.raises(SandboxError) as problem:
        call()
    assert_plans(problem.value.next_step)


@pytest.mark.parametrize(
    "name", [name for name, workload in WORKLOAD_KINDS.every().items() if workload.needs]
)
def test_the_stack_that_a_workload_needs_plans(name: str) -> None:
    with pytest.raises(SandboxError) as problem:
        refuse_unfit(resolve_workload(name).workload, name, (), "the group")
    assert_plans(problem.value.next_step)


def test_the_setting_that_a_fault_needs_plans() -> None:
    for setting in SETTING_OF.values():
        assert step_of(f"mysql@9.7+{setting}") is None


def test_the_image_of_a_server_that_is_upgraded_is_a_term() -> None:
    servers = [name for name in stacks.COMPONENTS if stacks.component(name).spec.kind == "database"]
    for key in {stacks.component(name).spec.image or name for name in servers}:
        with pytest.raises(SandboxError) as problem:
            LIBRARY.catalog.images[key].resolve(key, "0.1")
        assert_plans(problem.value.next_step)
        for series in LIBRARY.catalog.images[key].series:
            assert step_of(f"{key}@{series}") is None


def test_every_profile_that_a_message_or_a_page_writes_out_plans() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.yaml", "Makefile"],
        cwd=stacks.CHECKOUT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    written = re.compile(r"PROFILE='?([a-z][a-z0-9@.+-]*[a-z0-9])(?![a-z0-9@.+{…<-])")
    found = 0
    for name in listed.stdout.split():
        if name.startswith(("tests/", "CHANGELOG")):
            continue
        for profile in written.findall((stacks.CHECKOUT / name).read_text(encoding="utf-8")):
            assert step_of(profile) is None, f"{name}: {profile}"
            found += 1
    assert found > 10

"""Whatever is typed: a plan with its Compose file, or three lines; nothing else, and at once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.compose import compose_document, compose_text
from sandbox.profile.images import Availability
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER

LIBRARY = load_library()
WORDS = [*LIBRARY.words(), "client", "nothing"]
VERSIONS = sorted(
    {name for image in LIBRARY.catalog.images.values() for name in [*image.series, *image.aliases]}
)
QUICK = settings(max_examples=200)

a_term = st.builds(
    lambda place, word, count, version: f"{place}{word}{count}{version}",
    st.sampled_from(["", "", "", "galera2:", "mysql:", "haproxy1:"]),
    st.sampled_from(WORDS),
    st.sampled_from(["", "", "", "1", "2", "3", "9", "0"]),
    st.just("") | st.sampled_from(VERSIONS).map(lambda version: f"@{version}"),
)
a_profile = st.lists(a_term, min_size=1, max_size=5).map("+".join)
an_assignment = st.builds(
    lambda term, name, value: f"{term}{name}={value!r}",
    st.sampled_from(["", "mysql:", "replica:", "mysql1:"]),
    st.sampled_from(["a", "max-connections"]),
    st.text(max_size=8),
)


def planned(profile: str, assignments: tuple[str, ...] = (), registry: bool = True) -> Plan | None:
    """A plan; None where it is refused as bad input, in three lines."""
    external = "mysql://user@host:3306/db" if "external" in profile else None
    request = PlanRequest(profile, assignments=assignments, external=external)
    try:
        return make_plan(request, LIBRARY, Availability(registry=lambda: registry))
    except SandboxError as refused:
        assert refused.exit_code is ExitCode.BAD_INPUT
        assert len(refused.lines()) == 3
        assert all(refused.lines())
        return None


LIBRARY.components.names()
planned("+".join(["mysql", "replica"]))  # what is read from disk is read once


@QUICK
@given(st.text(max_size=80) | st.text(st.sampled_from("+@0123456789.abcdefmyqlpxr-"), max_size=30))
def test_any_text(text: str) -> None:
    planned(text)


@QUICK
@given(a_profile, st.booleans())
def test_any_terms(profile: str, registry: bool) -> None:
    plan = planned(profile, registry=registry)
    if plan is not None:
        assert len({node.name for node in plan.nodes}) == len(plan.nodes)
        identifiers = [node.server_id for node in plan.databases]
        assert len(set(identifiers)) == len(identifiers)


@settings(max_examples=60)
@given(a_profile, st.lists(an_assignment, max_size=2))
def test_any_plan_has_a_compose_file(profile: str, assignments: list[str]) -> None:
    plan = planned(profile, tuple(assignments))
    if plan is not None:
        document = compose_document(
            plan, PLACEHOLDER, Identity("sandbox-default-abcdef", "/checkout")
        )
        assert set(document["services"]) == {node.name for node in plan.nodes}
        assert compose_text(document)

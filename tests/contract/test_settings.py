"""Every file of profiles/settings/: a name that is a term, variants that some stack reaches, a
proof for each.
"""

from collections.abc import Iterator
from functools import cache

import pytest

from contract import stacks
from sandbox.profile.grammar import parse
from sandbox.profile.library import Setting, Variant
from sandbox.profile.plan import Node
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import effective_variables

SETTINGS = stacks.LIBRARY.settings
VARIANTS = [
    (name, number) for name, setting in SETTINGS.items() for number in range(len(setting.variants))
]


def test_every_file_is_read() -> None:
    files = {path.stem for path in (stacks.CHECKOUT / "profiles" / "settings").glob("*")}
    assert files == set(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_its_name_is_a_term_of_its_own(name: str) -> None:
    (term,) = parse(name)
    assert (term.name, term.count, term.version) == (name, None, None)
    assert name not in stacks.COMPONENTS
    assert name not in stacks.LIBRARY.named


@pytest.mark.parametrize("name", SETTINGS)
def test_it_says_what_it_does_and_names_only_what_exists(name: str) -> None:
    setting = SETTINGS[name]
    assert setting.help and "\n" not in setting.help and len(setting.help) <= 100
    known = {*SETTINGS, *stacks.COMPONENTS}
    assert set(setting.conflicts) <= known
    assert set(setting.needs) <= set(stacks.COMPONENTS)
    assert setting.variants


@pytest.mark.parametrize(("name", "number"), VARIANTS)
def test_a_variant_changes_something_and_proves_it(name: str, number: int) -> None:
    variant = SETTINGS[name].variants[number]
    assert variant.variables or variant.options or variant.first_start or variant.service
    assert bool(variant.proof.query) != bool(variant.proof.command), (
        "a proof is a query or a command"
    )
    assert variant.proof.expect != ""


@pytest.mark.parametrize(
    "name", [name for name, number in VARIANTS if SETTINGS[name].variants[number].from_client]
)
def test_what_it_takes_from_the_client_is_in_the_clients_image(name: str) -> None:
    built = (stacks.CHECKOUT / "images" / "client" / "Dockerfile").read_text()
    for variant in SETTINGS[name].variants:
        assert all(folder in built for folder in variant.from_client)


def companions(setting: Setting) -> list[str]:
    """What must stand between a database term and the setting, so that it applies."""
    if setting.needs:
        return [f"+{component}" for component in setting.needs]
    proxies = [
        f"+{name}" for name in stacks.COMPONENTS if stacks.component(name).spec.kind == "proxy"
    ]
    return {"proxies": proxies, "replicas": ["+replica"]}.get(setting.applies_to, [""])


def terms(setting: Setting) -> Iterator[str]:
    """Database terms that a setting could meet; for a proxy's setting the servers' versions do not
    matter.
    """
    for database in stacks.databases():
        yield database
        if setting.applies_to != "proxies":
            yield from stacks.versions_of(database)


@cache
def profiles(name: str) -> tuple[str, ...]:
    """Every profile in which the setting is accepted."""
    setting = SETTINGS[name]
    candidates = [
        f"{term}{companion}+{name}" for term in terms(setting) for companion in companions(setting)
    ]
    return tuple(profile for profile in candidates if stacks.refusal(profile) is None)


def holders(profile: str, name: str) -> list[tuple[Node, Variant]]:
    """Nodes of a stack with the setting, and the variant in effect."""
    return [
        (node, variant)
        for node in stacks.plan(profile).nodes
        for held, variant in node.applied
        if held == name
    ]


@pytest.mark.parametrize(("name", "number"), VARIANTS)
def test_every_variant_is_reached_by_some_stack(name: str, number: int) -> None:
    wanted = SETTINGS[name].variants[number]
    reached = (
        variant is wanted for profile in profiles(name) for _, variant in holders(profile, name)
    )
    assert any(reached), f"no stack reaches variant {number} ({wanted.when.describe()})"


@pytest.mark.parametrize("name", SETTINGS)
def test_its_proof_travels_with_every_stack_that_has_it(name: str) -> None:
    assert profiles(name), "it applies to nothing"
    for profile in profiles(name):
        composed = stacks.document(profile)
        for node, variant in holders(profile, name):
            asked_from = "client1" if variant.proof.via == "client" else node.name
            question = f"proof-{name}" + (f"-{node.name}" if variant.proof.via == "client" else "")
            mounts = {
                mount["target"]: mount["source"]
                for mount in composed["services"][asked_from]["configs"]
            }
            probe = composed["configs"][mounts["/sandbox/probe"]]["content"]
            assert f"{question})" in probe.splitlines(), f"{question} on {asked_from} of {profile}"


@pytest.mark.parametrize("name", SETTINGS)
def test_it_changes_the_compose_file(name: str) -> None:
    for profile in profiles(name):
        without = profile.removesuffix(f"+{name}")
        assert stacks.document(profile)["configs"] != stacks.document(without)["configs"], profile


@pytest.mark.parametrize("database", ["mysql@5.7", "mysql@8.4", "ps@8.0", "mariadb"])
def test_every_server_acknowledges_once_it_follows_another_one(database: str) -> None:
    plan = stacks.plan(f"{database}+replica1+semisync")
    for server in plan.databases:
        variables = effective_variables(server, node_context(plan, server, PLACEHOLDER))
        acknowledges = [
            name
            for name in variables
            if name.endswith(("sync_replica_enabled", "sync_slave_enabled"))
        ]
        assert [variables[name] for name in acknowledges] == ["ON"]

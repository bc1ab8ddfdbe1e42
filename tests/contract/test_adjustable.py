"""Options of proxies that SET= changes: each is in the configuration, and proved by the value that
was asked for.
"""

import re
from contextlib import suppress

import pytest

from contract import stacks
from sandbox.core.errors import SandboxError
from sandbox.profile.compose import compose_document
from sandbox.profile.files import expected_answer
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.templates import PLACEHOLDER, node_context

BEHIND = {
    "haproxy": ("galera3+haproxy@3.2",),
    "maxscale": ("mariadb+replica1+maxscale", "mariadb+replica1+maxscale+multiplexing"),
    "proxysql": (
        "galera3+proxysql",
        "gr3@8.4+proxysql",
        "mysql+replica1+proxysql",
        "mysql+replica1+proxysql+read-only-monitor",
    ),
    "router": ("gr3@9.7+router",),
}
"""Profiles of which every option of the proxy changes one."""
SAMPLES = ("7", "700", "7s", "700ms", "0.7", "none")
ADJUSTABLE = [
    (name, option)
    for name in stacks.COMPONENTS
    for option in stacks.component(name).spec.adjustable
]


def plan(profile: str, *assignments: str) -> Plan:
    """The plan with SET=."""
    return make_plan(PlanRequest(profile, assignments), stacks.LIBRARY, stacks._ONLINE)


def configurations(plan: Plan) -> dict[str, str]:
    """Every configuration file of a stack but the probes, by name."""
    configs = compose_document(plan, PLACEHOLDER, Identity("sandbox-default-abcdef", "/checkout"))[
        "configs"
    ]
    return {name: str(entry["content"]) for name, entry in configs.items() if "probe" not in name}


def sample(name: str, option: str) -> str:
    """A value that is valid and not the default."""
    spec = stacks.component(name).spec
    pattern, default = spec.adjustable[option].pattern, str(spec.options[option])
    return next(each for each in SAMPLES if re.fullmatch(pattern, each) and each != default)


def behind(name: str, assignment: str) -> str:
    """The first of its profiles in which an option is accepted."""
    for profile in BEHIND[name]:
        with suppress(SandboxError):
            return plan(profile, assignment).profile
    raise AssertionError(f"{assignment} is refused everywhere")


def test_the_proxies_that_wait_for_something_have_options() -> None:
    assert {name for name, _ in ADJUSTABLE} == set(BEHIND)


@pytest.mark.parametrize(("name", "option"), ADJUSTABLE)
def test_an_option_changes_the_configuration_and_its_proof_expects_the_value(
    name: str, option: str
) -> None:
    value = sample(name, option)
    profile = behind(name, f"{name}:{option}={value}")
    usual, changed = plan(profile), plan(profile, f"{name}:{option}={value}")
    before, after = configurations(usual), configurations(changed)
    differing = [file for file in before if before[file] != after[file]]
    assert differing and before.keys() == after.keys()
    new = {line for file in differing for line in after[file].splitlines()} - {
        line for file in differing for line in before[file].splitlines()
    }
    assert value == "none" or all(value in line for line in new), new
    (node,) = [node for node in changed.nodes if node.service == name]
    (proof,) = [variant.proof for setting, variant in node.applied if setting == f"{name}-{option}"]
    assert proof and expected_answer(proof, node, node_context(changed, node, PLACEHOLDER)) == value


@pytest.mark.parametrize(("name", "option"), ADJUSTABLE)
def test_a_default_is_valid_or_empty_and_a_wrong_value_is_refused(name: str, option: str) -> None:
    spec = stacks.component(name).spec
    default = str(spec.options[option])
    assert not default or re.fullmatch(spec.adjustable[option].pattern, default)
    for wrong in ("0", "-1", "1 h", "x"):
        with pytest.raises(SandboxError) as refused:
            plan(BEHIND[name][0], f"{name}:{option}='{wrong}'")
        assert refused.value.known.startswith(f"{option}: ") and len(refused.value.lines()) == 3


@pytest.mark.parametrize(
    ("profile", "option", "reason"),
    [
        (
            "galera3+proxysql",
            "monitor_read_only_interval",
            "with the setting read-only-monitor alone",
        ),
        ("galera3+proxysql", "checker_pause", "no checker"),
        ("gr3@8.4+proxysql", "monitor_galera_healthcheck_interval", "Galera nodes"),
        (
            "mysql+replica1+proxysql",
            "monitor_groupreplication_healthcheck_interval",
            "members of Group Replication",
        ),
        (
            "gr3@9.7+proxysql@2.7",
            "monitor_groupreplication_healthcheck_interval",
            "the checker asks them",
        ),
    ],
)
def test_an_option_that_changes_nothing_is_refused_with_the_reason(
    profile: str, option: str, reason: str
) -> None:
    with pytest.raises(SandboxError, match="changes nothing in") as refused:
        plan(profile, f"proxysql:{option}=700{'ms' if option.startswith('checker') else ''}")
    assert reason in refused.value.known

"""Options of proxies that SET= changes: each is in the configuration, and proved by the value that was asked for."""

import re

import pytest

from contract import stacks
from sandbox.errors import SandboxError
from sandbox.plan.compose import compose_document
from sandbox.plan.model import Plan, PlanRequest
from sandbox.plan.names import Identity
from sandbox.plan.planner import make_plan
from sandbox.plan.probes import expected_answer
from sandbox.plan.templates import PLACEHOLDER, node_context

BEHIND = {
    "haproxy": "galera3+haproxy@3.2",
    "maxscale": "mariadb+replica1+maxscale",
    "proxysql": "galera3+proxysql",
    "router": "gr3@9.7+router",
}
"""A profile in which every option of the proxy is in its configuration."""
SAMPLES = ("7", "700", "7s", "700ms", "0.7", "none")
ADJUSTABLE = [
    (name, option) for name in stacks.COMPONENTS for option in stacks.component(name).spec.adjustable
]  # fmt: skip


def plan(profile: str, *assignments: str) -> Plan:
    """The plan with SET=."""
    return make_plan(PlanRequest(profile, assignments), stacks.LIBRARY, stacks._ONLINE)


def configurations(plan: Plan) -> dict[str, str]:
    """Every configuration file of a stack but the probes, by name."""
    configs = compose_document(plan, PLACEHOLDER, Identity("sandbox-default-abcdef", "/checkout"))["configs"]
    return {name: str(entry["content"]) for name, entry in configs.items() if "probe" not in name}


def sample(name: str, option: str) -> str:
    """A value that is valid and not the default."""
    spec = stacks.component(name).spec
    pattern, default = spec.adjustable[option].pattern, str(spec.options[option])
    return next(each for each in SAMPLES if re.fullmatch(pattern, each) and each != default)


def test_the_proxies_that_wait_for_something_have_options() -> None:
    assert {name for name, _ in ADJUSTABLE} == set(BEHIND)


@pytest.mark.parametrize(("name", "option"), ADJUSTABLE)
def test_an_option_changes_the_configuration_and_its_proof_expects_the_value(name: str, option: str) -> None:
    value = sample(name, option)
    usual, changed = plan(BEHIND[name]), plan(BEHIND[name], f"{name}:{option}={value}")
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
            plan(BEHIND[name], f"{name}:{option}='{wrong}'")
        assert refused.value.known.startswith(f"{option}: ") and len(refused.value.lines()) == 3

"""Plans and Compose files of sample profiles, byte for byte; UPDATE_GOLDEN=1 keeps a difference
that is meant.
"""

import difflib
import os
from pathlib import Path

import pytest

from sandbox.core.paths import CHECKOUT
from sandbox.profile.compose import compose_document, compose_text
from sandbox.profile.images import Availability
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER
from sandbox.report.plan import plan_document
from sandbox.report.render import terminal

GOLDEN = CHECKOUT / "tests" / "golden"
EXTERNAL = "mysql://user@db.example.net:3306/sbtest"
PROFILES = [
    "external",
    "galera3+haproxy",
    "gr3+multi-primary+prometheus",
    "gr3+router",
    "mariadb+replica2+maxscale",
    "mariadb+replica2+mha+haproxy",
    "mariadb@10.11+replica@11.8",
    "mysql+threadpool+rewriter+doublewrite-off+replica1+haproxy",
    "mysql@5.6+replica1",
    "mysql@8.4+mysql@9.7+mariadb@11.8",
    "mysql@8.4+replica2+orchestrator",
    "mysql@8.4+replica@9.7",
    "ps@8.0+replica2+proxysql+rw-split",
    "psgr3+proxysql+multiplexing",
    "pxc3@8.4+replica1+proxysql+pmm",
]


def sample(profile: str) -> Plan:
    """A plan where nothing is local and a registry answers: the published images, wherever there
    are any.
    """
    external = EXTERNAL if profile == "external" else None
    return make_plan(
        PlanRequest(profile, external=external), load_library(), Availability(registry=lambda: True)
    )


def check(path: Path, text: str) -> None:
    """Compares with the golden file, or writes it."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = "\n".join(
        difflib.unified_diff(kept.splitlines(), text.splitlines(), "kept", "now", lineterm="", n=2)
    )
    assert kept == text, (
        f"{path.name} differs; if that is meant: UPDATE_GOLDEN=1 make test-unit\n{difference[:3000]}"  # noqa: E501
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_a_plan_is_as_it_was(profile: str) -> None:
    check(GOLDEN / "plan" / f"{profile}.txt", terminal.text(plan_document(sample(profile))))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_compose_file_is_as_it_was(profile: str) -> None:
    document = compose_document(
        sample(profile), PLACEHOLDER, Identity("sandbox-default-abcdef", "/checkout")
    )
    check(GOLDEN / "compose" / f"{profile}.yaml", compose_text(document))


def test_no_golden_file_is_left_over() -> None:
    kept = {path.stem for folder in ("plan", "compose") for path in (GOLDEN / folder).iterdir()}
    assert kept == set(PROFILES)

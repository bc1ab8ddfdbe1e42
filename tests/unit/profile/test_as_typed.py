"""What people type: blanks, other names, an image's way of writing a version, limits that cannot
be.
"""

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.images import Availability
from sandbox.profile.plan import Plan, PlanRequest, memory_mb
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.report.plan import plan_document
from sandbox.report.render import terminal
from sandbox.report.terms import terms_document


def planned(profile: str, **request: str) -> Plan:
    """A plan over this checkout's own files; every published image is within reach."""
    return make_plan(
        PlanRequest(profile, **request),  # type: ignore[arg-type]
        load_library(),
        Availability(registry=lambda: True),
    )


def refused(profile: str, **request: str) -> SandboxError:
    """Why there is no plan."""
    with pytest.raises(SandboxError) as caught:
        planned(profile, **request)
    return caught.value


@pytest.mark.parametrize(
    ("typed", "profile"),
    [
        (" mysql + replica2 ", "mysql+replica2"),
        ("percona@8.0+replica", "ps@8.0+replica"),
        ("percona-server", "ps"),
        ("xtradb3", "pxc3"),
        ("group-replication@8.4", "gr@8.4"),
    ],
)
def test_blanks_and_other_names_are_taken(typed: str, profile: str) -> None:
    assert planned(typed).profile == profile


@pytest.mark.parametrize(
    ("typed", "meant", "whole"),
    [
        ("mysql:8.4", "mysql@8.4", "mysql@8.4"),
        ("MySQL@8.4+Replica", "mysql@8.4", "mysql@8.4+replica"),
    ],
)
def test_what_differs_by_a_colon_or_a_capital_is_named(typed: str, meant: str, whole: str) -> None:
    error = refused(typed)
    assert error.known == f"did you mean '{meant}'?" and error.next_step.endswith(
        f"PROFILE={whole}"
    )


@pytest.mark.parametrize(
    ("version", "near"),
    [("8.5", "'8.4' or '9.0'"), ("5.4", "'5.5'"), ("10", "'9.7'"), ("ltss", "'lts'")],
)
def test_the_nearest_versions_are_those_on_either_side(version: str, near: str) -> None:
    assert f"did you mean {near}?" in refused(f"mysql@{version}").known


def test_no_alias_hides_a_term() -> None:
    library = load_library()
    words = [*library.components.names(), *library.settings, *library.named, "client"]
    assert not set(library.components.aliases()) & set(words)


@pytest.mark.parametrize(
    ("amount", "mib"), [("512m", 512), ("2g", 2048), ("1GB", 1024), ("1048576", 1), ("2048k", 2)]
)
def test_amounts_of_memory_are_dockers(amount: str, mib: int) -> None:
    assert memory_mb(amount) == mib


def test_memory_that_no_server_lives_on_is_refused_and_any_other_is_what_it_takes() -> None:
    assert "MEMORY=10m is too little for mysql1" in refused("mysql", memory="10m").what
    assert planned("mysql", memory="2g").memory_mb == 2048 + planned("mysql").client.memory_mb


def test_a_replica_older_than_its_source_is_noted() -> None:
    older = "replication to an older series is unsupported"
    assert older in " ".join(terminal.text(plan_document(planned("mysql@8.0+replica@5.7"))).split())
    assert older not in " ".join(
        terminal.text(plan_document(planned("mysql@8.0+replica@8.4"))).split()
    )


def test_the_list_of_terms_fits_and_no_name_touches_its_text() -> None:
    lines = terminal.lines(terms_document(load_library()))
    assert max(map(len, lines)) <= 100 and not any("…" in line for line in lines[1:])
    assert any(line.startswith("  doublewrite-detect-only  the ") for line in lines)

"""Images on their way: pulled or built at once, shown as they go, refused before anything
starts.
"""

import os
import threading
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.images import Availability, ImageChoice
from sandbox.stack import planning, supply
from sandbox.stack.protocol import ImageEvent, LogTail
from sandbox.stack.supply import ensure_images
from unit.profile.small_library import CATALOG, SMALL
from unit.profile.small_library import plan as planned
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, local_plan

BUILT = ImageChoice("mysql", "9.7", "9.7.2", "sandbox/mysql:9.7-sid", "build", "built")
PULLED = ImageChoice("mysql", "8.4", "8.4.11", "mysql:8.4.11", "pull", "published")
PINNED = ImageChoice("mysql", "8.4", "8.4.11", "mysql:8.4.11@sha256:1", "local", "published")

BUILD = """#!/bin/sh
echo "build-image: another process is building mysql; waiting for it" >&2
echo 'Step 3/9 : RUN apt-get' >&2
[ "$1" = mysql ] || { echo what; echo known; echo 'Next: doctor'; exit 4; }
echo "recipe $SANDBOX_RECIPE" >&2
"""
PULL = """#!/bin/sh
echo '0123456789ab: Pulling fs layer'
echo 'ba9876543210: Already exists'
echo '0123456789ab: Pull complete'
case "$*" in *missing*) echo 'manifest unknown'; exit 1 ;; esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine without images, with a client and a build script that say what real ones say."""
    for name, text in (("docker", PULL), ("build-image", BUILD)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(supply, "BUILD_SCRIPT", tmp_path / "build-image")
    monkeypatch.setattr(supply, "recipe", lambda _: "5ec1be000000")
    fake = FakeDocker()
    fake.on("^image inspect", answer(code=1, stderr="no such image"))
    return fake


def test_what_is_here_asks_nothing(docker: FakeDocker) -> None:
    ensure_images(local_plan("mysql+replica1"), Events(), docker)
    assert docker.calls == []


def test_a_pull_shows_its_layers(docker: FakeDocker) -> None:
    events = Events()
    supply.supply([PULLED, PULLED], events, docker)
    shown = [(each.state, each.detail) for each in events if isinstance(each, ImageEvent)]
    assert shown == [
        ("pulling", ""),
        ("pulling", "0 of 1 layers"),
        ("pulling", "1 of 2 layers"),
        ("pulling", "2 of 2 layers"),
        ("here", ""),
    ]


def test_a_tag_that_does_not_exist_is_refused_with_the_versions_that_do(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "load_library", lambda: SMALL)
    here = Availability(frozenset({"mysql:9.7.1"}), lambda: True)
    monkeypatch.setattr(supply, "engine_availability", lambda lock, docker: here)
    missing = ImageChoice(
        "mysql", "9.7", "9.7.99", "mysql:missing", "pull", "published", exact="9.7.99"
    )
    with pytest.raises(SandboxError) as failed:
        supply.supply([missing], Events(), docker)
    assert failed.value.exit_code == ExitCode.ENVIRONMENT
    there = (
        "9.7.4-1 (can be built here), 9.7.4 (can be built here), 9.7.3 (can be built here), 9.7.2"
        " (published), 9.7.1 (here)"
    )
    assert failed.value.known == f"manifest unknown; of mysql 9.7 there are {there}"


def test_a_pull_that_fails_says_why(docker: FakeDocker) -> None:
    missing = ImageChoice("mysql", "8.4", "8.4.99", "mysql:missing", "pull", "published")
    with pytest.raises(SandboxError) as failed:
        supply.supply([missing], Events(), docker)
    assert failed.value.exit_code == ExitCode.ENVIRONMENT
    assert failed.value.known == "manifest unknown"


def test_a_locked_digest_is_verified_and_pulled_where_the_tag_is_another(
    docker: FakeDocker,
) -> None:
    supply.supply([PINNED], Events(), docker)
    assert docker.called("tag") == [("tag", "mysql:8.4.11@sha256:1", "mysql:8.4.11")]
    docker.calls.clear()
    docker.on("^image inspect", answer("sha256:1"))
    supply.supply([PINNED], Events(), docker)
    assert not docker.called("tag")


def test_a_build_shows_its_steps_and_carries_its_recipe(docker: FakeDocker) -> None:
    inspected = iter([answer(code=1), answer("5ec1be000000\n")])
    docker.on("^image inspect", lambda _: next(inspected))
    events = Events()
    supply.supply([BUILT], events, docker)
    details = [each.detail for each in events if isinstance(each, ImageEvent)]
    assert "step 3/9" in details
    assert "another process is building mysql; waiting for it" in details
    assert events[-1].state == "here"  # type: ignore[union-attr]


def test_an_exact_build_names_its_package(docker: FakeDocker, tmp_path: Path) -> None:
    (tmp_path / "build-image").write_text(f'#!/bin/sh\necho "$*" >{tmp_path}/arguments\n')
    inspected = iter([answer(code=1), answer("5ec1be000000\n")])
    docker.on("^image inspect", lambda _: next(inspected))
    name = "sandbox/mysql:9.7.3-ds-1-forky"
    exact = ImageChoice(
        "mysql", "9.7", "9.7.3", name, "build", "built", exact="9.7.3", package="1:9.7.3+ds-1"
    )
    supply.supply([exact], Events(), docker)
    assert (tmp_path / "arguments").read_text() == "mysql forky 9.7 1:9.7.3+ds-1\n"


def test_after_a_build_the_plan_has_the_version_that_was_built(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The series moved on since the catalog was written: its package is newer, and capabilities
    count from it.
    """
    client = "sandbox/client:1-bookworm"
    inspected = iter([answer(code=1), answer("5ec1be000000\n")])
    docker.on("^image inspect", lambda _: next(inspected))
    now = Availability(frozenset({BUILT.reference, client}), packages={BUILT.reference: "9.7.6-1"})
    monkeypatch.setattr(supply, "load_library", lambda: SMALL)
    monkeypatch.setattr(supply, "engine_availability", lambda *_: now)
    monkeypatch.setattr(planning, "load_library", lambda: SMALL)
    monkeypatch.setattr(planning, "engine_availability", lambda *_: now)
    before = planned("mysql", Availability(frozenset({client})))
    after = ensure_images(before, Events(), docker)
    assert (before.node("mysql1").version, before.node("mysql1").choice.source) == (
        "9.7.4",
        "build",
    )
    assert (after.node("mysql1").version, after.node("mysql1").choice.source) == ("9.7.6", "local")


def test_what_another_command_built_meanwhile_is_not_built_again(docker: FakeDocker) -> None:
    docker.on("^image inspect", answer("5ec1be000000\n"))
    events = Events()
    supply.supply([BUILT], events, docker)
    assert [each.state for each in events if isinstance(each, ImageEvent)] == ["here"]


def test_a_build_that_fails_hands_on_the_three_lines_and_its_log(docker: FakeDocker) -> None:
    other = ImageChoice("router", "9.7", "9.7.1", "sandbox/router:9.7-sid", "build", "built")
    events = Events()
    with pytest.raises(SandboxError) as failed:
        supply.supply([other], events, docker)
    assert failed.value.lines() == ["what", "known", "try: doctor"]
    assert failed.value.exit_code == ExitCode.ENVIRONMENT
    assert any(isinstance(each, LogTail) for each in events)


def test_a_pinned_build_that_the_archive_gives_no_longer_is_reported(docker: FakeDocker) -> None:
    pinned = ImageChoice("mysql", "9.7", "9.7.2", "sandbox/mysql:9.7.4-1-sid", "build", "built")
    with pytest.raises(SandboxError) as moved:
        supply.supply([pinned], Events(), docker)
    assert "make lock" in moved.value.next_step


def test_the_first_failure_ends_the_others(docker: FakeDocker, tmp_path: Path) -> None:
    (tmp_path / "build-image").write_text(
        '#!/bin/sh\n[ "$1" = mysql ] && { echo a; echo b; echo c; exit 4; }\nsleep 60\n'
    )
    slow = ImageChoice("client", "1", "1", "sandbox/client:1-bookworm", "build", "built")
    failures: list[SandboxError] = []

    def run() -> None:
        try:
            supply.supply([slow, BUILT], Events(), docker)
        except SandboxError as failed:
            failures.append(failed)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(15)
    assert not thread.is_alive()
    assert failures and failures[0].what == "a"


def test_an_image_that_cannot_be_had_names_what_works_here(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Availability(local=frozenset({"proxy:3.0.26"}))
    monkeypatch.setattr(supply, "load_library", lambda: SMALL)
    monkeypatch.setattr(supply, "engine_availability", lambda lock, docker: here)
    with pytest.raises(SandboxError) as refused:
        ensure_images(planned("cluster3@8.4+router", here), Events(), docker)
    assert refused.value.exit_code == ExitCode.ENVIRONMENT
    assert "mysql:8.4.11" in refused.value.what and "router:8.4.10" in refused.value.what
    assert "terms that work here: balancer, cluster, " in refused.value.known
    assert refused.value.next_step == "try: make up PROFILE=cluster3+balancer"
    assert not docker.containers


@pytest.mark.parametrize(
    ("profile", "instead"),
    [
        ("mysql@9.7.1+replica2", "mysql@9.7.2+replica2"),
        ("mysql@9.7.5", "mysql@9.7.4"),
        ("cluster3@9.7.9+balancer", "cluster3@9.7.4+balancer"),
    ],
)
def test_an_exact_version_that_is_unavailable_is_refused_with_those_that_are_not(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch, profile: str, instead: str
) -> None:
    here = Availability(frozenset({"mysql:9.7.2", "proxy:3.0.26"}))
    monkeypatch.setattr(supply, "load_library", lambda: SMALL)
    monkeypatch.setattr(supply, "engine_availability", lambda lock, docker: here)
    with pytest.raises(SandboxError) as refused:
        ensure_images(planned(profile, here), Events(), docker)
    assert refused.value.exit_code == ExitCode.ENVIRONMENT
    built = "9.7.4-1 (can be built here), 9.7.4 (can be built here), 9.7.3 (can be built here)"
    assert refused.value.known == f"of mysql 9.7 there are {built}, 9.7.2 (here)"
    assert refused.value.next_step == f"try: make up PROFILE={instead}"


def test_everything_that_is_built_here_can_be_asked_for() -> None:
    references = {choice.reference for choice in supply.all_built(CATALOG, Availability())}
    assert references == {"sandbox/mysql:9.7-sid", "sandbox/client:1-bookworm"}

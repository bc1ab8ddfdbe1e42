"""The store of snapshots: found when finished and here, trimmed by last use; its helper container
ends in any case.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from sandbox.profile.images import Availability
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.stack.snapshots import restore, store
from sandbox.stack.snapshots.store import CopyHelper, Facts
from unit.stack.fake_docker import FakeDocker, answer

MIB = 1 << 20


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine with nothing on it, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = FakeDocker()
    fake.on("^image inspect", answer("sha256:one\n"))
    return fake


def local_plan(profile: str, **request: Any) -> Plan:
    """A plan of the real library."""
    return make_plan(PlanRequest(profile, **request), load_library(), Availability())


def facts(key: str, megabytes: int = 1, **fields: Any) -> Facts:
    """A snapshot of one server."""
    plan = local_plan("mysql")
    known = {
        "key": key,
        "profile": "mysql",
        "checkout": "/here",
        "uuid": "u",
        "bytes": megabytes * MIB,
        "images": {plan.databases[0].image: "sha256:one"},
        "positions": {"mysql1": None},
        "volumes": {"mysql1-data": "mysql1"},
        "made_unix_s": 1.0,
    }
    return Facts.model_validate({**known, **fields})


def put(docker: FakeDocker, each: Facts, used_unix_s: float = 1.0) -> None:
    """A finished snapshot."""
    docker.volumes[store.volume_name(each.key)] = {
        store.LABEL: each.key,
        "sandbox.checkout": each.checkout,
    }
    store.keep(each)
    path = store._path(each.key)
    os.utime(path, (used_unix_s, used_unix_s))


def test_one_that_was_cut_short_is_not_found(docker: FakeDocker) -> None:
    docker.volumes[store.volume_name("a")] = {store.LABEL: "a", "sandbox.checkout": "/here"}
    assert store.find(docker, "a") is None
    put(docker, facts("a"))
    assert store.find(docker, "a") is not None


def test_one_of_another_engine_is_not_found(docker: FakeDocker) -> None:
    store.keep(facts("a"))
    assert store.find(docker, "a") is None
    assert store.snapshots(docker) == []


def test_beyond_the_cap_the_least_recently_used_go(docker: FakeDocker) -> None:
    for number, key in enumerate("abc"):
        put(docker, facts(key, megabytes=4), used_unix_s=100.0 + number)
    store.touch(store.snapshots(docker)[-1])
    assert store.trim(docker, cap_bytes=9 * MIB) == ["b"]
    assert {each.facts.key for each in store.snapshots(docker)} == {"a", "c"}
    assert store.volume_name("b") not in docker.volumes


def test_clean_removes_those_of_its_checkout_finished_or_not(docker: FakeDocker) -> None:
    put(docker, facts("a"))
    put(docker, facts("b", checkout="/elsewhere"))
    docker.volumes[store.volume_name("half")] = {store.LABEL: "half", "sandbox.checkout": "/here"}
    assert store.forget_all(docker, "/here") == (2, 1)
    assert [each.facts.key for each in store.snapshots(docker)] == ["b"]
    assert store.forget_all(docker, None) == (1, 0)


def test_clean_counts_only_what_it_removed(docker: FakeDocker) -> None:
    for key in "abc":
        put(docker, facts(key))
    docker.on(f"^volume rm .*{store.volume_name('c')}$", answer(code=1, stderr="volume is in use"))
    with store.claim(["b"], to_read=True):
        assert store.forget_all(docker, "/here") == (1, 0)
    assert {each.facts.key for each in store.snapshots(docker)} == {"b", "c"}


def test_a_volume_in_use_stays_known(docker: FakeDocker) -> None:
    put(docker, facts("a"))
    docker.on("^volume rm", answer(code=1, stderr="volume is in use"))
    store.forget(docker, ["a"])
    assert store.find(docker, "a") is not None


@pytest.mark.parametrize(
    ("profile", "request_", "change", "usable"),
    [
        ("mysql", {}, {}, True),
        ("mysql", {}, {"images": {"other": "sha256:one"}}, False),
        ("mysql+replica1", {}, {}, False),
        ("mysql", {"assignments": ("init-file=/tmp/x",)}, {}, False),
    ],
)
def test_only_the_same_servers_of_the_same_images_are_restored(
    docker: FakeDocker, profile: str, request_: dict[str, Any], change: dict[str, Any], usable: bool
) -> None:
    put(docker, facts("a", **change))
    assert (restore.usable(docker, local_plan(profile, **request_), "a") is not None) == usable


OWNER = Identity("p", "/here")


def test_one_that_is_interrupted_is_removed_by_its_name() -> None:
    docker = FakeDocker()
    with pytest.raises(KeyboardInterrupt), CopyHelper(docker, "image", OWNER, []):
        raise KeyboardInterrupt
    started = docker.called("run")[0]
    assert docker.called("rm") == [("rm", "--force", started[started.index("--name") + 1])]


def test_two_of_a_stack_have_names_of_their_own() -> None:
    docker = FakeDocker()
    for _ in range(2):
        with CopyHelper(docker, "image", OWNER, []):
            pass
    names = {call[call.index("--name") + 1] for call in docker.called("run")}
    assert len(names) == 2 and not docker.called("rm")


@pytest.mark.parametrize("in_background", [True, False])
def test_who_uses_a_stack_comes_before_the_copy_of_it(in_background: bool) -> None:
    """A restored stack, by contrast, waits for its files."""
    docker = FakeDocker()
    with CopyHelper(
        docker, "client", Identity("p", "/x"), ["a:/from/a:ro"], in_background=in_background
    ):
        pass
    assert ("--cpu-shares" in docker.called("run")[0]) is in_background

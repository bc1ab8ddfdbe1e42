"""What the engine has, which of it is out of date, whether a registry answers."""

import json
from pathlib import Path

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.images import Availability, Lock, choose_image
from sandbox.stack import images as images_module
from sandbox.stack.images import built_folders, engine_availability, lock_images, recipe, registry_reachable
from unit.plan.small_library import CATALOG
from unit.plan.small_library import plan as planned
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import local_plan

ALIAS = "sandbox/mysql:9.7-sid"


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder images/ with one recipe."""
    for folder in ("mysql", "client", "server"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "Dockerfile").write_text("FROM debian\nCOPY server/entrypoint.sh /\nCOPY --from=x /a /b\n")
    (tmp_path / "server" / "entrypoint.sh").write_text("exec mysqld\n")
    monkeypatch.setattr(images_module, "recipe", lambda folder: recipe(folder, tmp_path))
    return tmp_path


def built(docker: FakeDocker, value: str) -> None:
    """One image, built here from a recipe."""
    docker.on("^image ls", answer(f"{ALIAS}\nmysql:8.4.11\n"))
    docker.on(
        "^image inspect", answer(json.dumps({"tags": [ALIAS], "recipe": value}) + "\n", code=1, stderr="no such image")
    )


def test_an_image_of_the_present_recipe_is_local(images: Path) -> None:
    docker = FakeDocker()
    built(docker, recipe("mysql", images))
    available = engine_availability(Lock(), docker, CATALOG)
    assert available.local == {ALIAS, "mysql:8.4.11"}
    assert choose_image(CATALOG, "mysql", "9.7", available).source == "local"


@pytest.mark.parametrize("other", ["", "0123456789ab"])
def test_an_image_of_another_recipe_is_built_again(images: Path, other: str) -> None:
    docker = FakeDocker()
    built(docker, other)
    docker.on("^pull", answer(code=1, stderr="no such host"))
    available = engine_availability(Lock(), docker, CATALOG)
    assert choose_image(CATALOG, "mysql", "9.7", available).source == "build"


def test_an_engine_without_any_image_has_none() -> None:
    docker = FakeDocker()
    docker.on("^image ls", answer(""))
    docker.on("^image inspect", answer("\n", code=1, stderr="no such image"))
    assert engine_availability(Lock(), docker, CATALOG).local == frozenset()


def test_a_recipe_moves_with_everything_that_goes_into_the_image(images: Path) -> None:
    def now() -> str:
        recipe.cache_clear()
        return recipe("mysql", images)

    seen = {now()}
    (images / "mysql" / "my.cnf").write_text("[mysqld]\n")
    seen.add(now())
    (images / "server" / "entrypoint.sh").write_text("exec mysqld --verbose\n")
    seen.add(now())
    (images / "client" / "Dockerfile").write_text("FROM other\n")
    assert now() in seen
    assert len(seen) == 3


def test_a_registry_is_asked_only_when_it_matters_and_only_once() -> None:
    docker = FakeDocker()
    docker.on("^pull", answer(code=1, stderr="manifest for debian:no-such-tag not found: manifest unknown"))
    available = engine_availability(Lock(), docker, CATALOG)
    assert not docker.called("pull")
    assert available.registry() and available.registry()
    assert len(docker.called("pull")) == 1


@pytest.mark.parametrize(
    "stderr", ["dial tcp: lookup registry-1.docker.io: no such host", "toomanyrequests: rate limit", "i/o timeout"]
)
def test_an_engine_that_gets_no_answer_has_no_registry(stderr: str) -> None:
    docker = FakeDocker()
    docker.on("^pull", answer(code=1, stderr=stderr))
    assert not registry_reachable(docker)


def test_every_build_of_the_catalog_has_its_folder() -> None:
    assert built_folders(CATALOG) == {ALIAS: "mysql", "sandbox/client:1-bookworm": "client"}


def test_lock_pins_digests_and_package_versions(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.stack.images.load_lock", lambda: Lock(published={"kept:1": "sha256:0"}))
    docker = FakeDocker()
    docker.on("RepoDigests.* mysql:8.4.11$", answer(json.dumps(["other@sha256:2", "mysql@sha256:1"])))
    docker.on(
        "RepoTags.* sandbox/client",
        answer(json.dumps(["sandbox/client:1-bookworm", "sandbox/client:1.0.20-5-bookworm"])),
    )
    plan = planned("mysql@8.4", Availability(local=frozenset({"mysql:8.4.11", "sandbox/client:1-bookworm"})))
    lock = lock_images(plan, docker, images / "lock.yaml")
    assert lock.published == {"kept:1": "sha256:0", "mysql:8.4.11": "sha256:1"}
    assert lock.built == {"sandbox/client:1-bookworm": "sandbox/client:1.0.20-5-bookworm"}
    assert "mysql:8.4.11: sha256:1" in (images / "lock.yaml").read_text()


def test_an_image_without_a_digest_cannot_be_pinned(images: Path) -> None:
    docker = FakeDocker()
    docker.on("RepoDigests", answer("[]"))
    with pytest.raises(SandboxError) as without:
        lock_images(local_plan("mysql@8.4"), docker, images / "lock.yaml")
    assert without.value.exit_code == ExitCode.ENVIRONMENT

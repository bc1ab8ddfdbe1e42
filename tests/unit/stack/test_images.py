"""What the engine has, which of it is out of date, whether a registry answers.

An image of the user's own: found or loaded, and no name changes hands by it.
"""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.images import Availability, Lock, choose_image
from sandbox.stack import images as images_module
from sandbox.stack.images import (
    build_folders,
    engine_availability,
    expected_builds,
    image_override,
    lock_images,
    recipe,
    registry_reachable,
    series_builds,
    volumes_of,
)
from sandbox.stack.protocol import ExecResult
from unit.profile.small_library import CATALOG
from unit.profile.small_library import plan as planned
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import local_plan

ALIAS = "sandbox/mysql:9.7-sid"
EXACT = "sandbox/mysql:9.7.4-2-sid"
EARLIER = "sandbox/mysql:9.7.1-1-sid"
LOADED = "sha256:" + "b" * 64
PUBLISHED = "sha256:" + "a" * 64


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder images/ with one recipe."""
    for folder in ("mysql", "client", "server"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "Dockerfile").write_text(
            "FROM debian\nCOPY server/entrypoint.sh /\nCOPY --from=x /a /b\n"
        )
    (tmp_path / "server" / "entrypoint.sh").write_text("exec mysqld\n")
    monkeypatch.setattr(images_module, "recipe", lambda folder: recipe(folder, tmp_path))
    return tmp_path


def described(tags: list[str], recipe_: str, package: str | None = "9.7.4-2") -> str:
    """An image as `docker image inspect` prints it here."""
    return json.dumps({"tags": tags, "recipe": recipe_, "package": package}) + "\n"


def built(docker: FakeDocker, value: str) -> None:
    """One image, built here from a recipe."""
    docker.on("^image ls", answer(f"{ALIAS}\n{EXACT}\nmysql:8.4.11\n"))
    docker.on(
        "^image inspect", answer(described([ALIAS, EXACT], value), code=1, stderr="no such image")
    )


def test_an_image_of_the_present_recipe_is_local(images: Path) -> None:
    docker = FakeDocker()
    built(docker, recipe("mysql", images))
    available = engine_availability(Lock(), docker, CATALOG)
    assert available.local == {ALIAS, EXACT, "mysql:8.4.11"}
    assert available.packages == {ALIAS: "9.7.4-2", EXACT: "9.7.4-2"}
    assert choose_image(CATALOG, "mysql", "9.7", available).source == "local"
    assert len(docker.called("image")) == 2


@pytest.mark.parametrize("current", [True, False])
def test_an_image_of_an_earlier_package_is_kept_for_those_who_ask_for_it(
    images: Path, current: bool
) -> None:
    """Its series' name is another image's by now, so it is asked for by its own; unless its recipe
    is outdated.
    """
    docker = FakeDocker()
    built(docker, recipe("mysql", images))
    docker.on("^image ls", answer(f"{ALIAS}\n{EXACT}\n{EARLIER}\nsandbox/given:1\n"))
    value = recipe("mysql", images) if current else "0123456789ab"
    docker.on("^pull", answer(code=1, stderr="no such host"))
    docker.on(f"^image inspect .* {EARLIER}$", answer(described([EARLIER], value, "9.7.1-1")))
    available = engine_availability(Lock(), docker, CATALOG)
    choice = choose_image(CATALOG, "mysql", "9.7.1", available)
    assert (choice.reference, choice.source) == (
        (EARLIER, "local") if current else ("mysql:9.7.1", "unavailable")
    )
    assert choose_image(CATALOG, "mysql", "9.7", available).reference == ALIAS


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
    docker.on(
        "^pull",
        answer(code=1, stderr="manifest for debian:no-such-tag not found: manifest unknown"),
    )
    available = engine_availability(Lock(), docker, CATALOG)
    assert not docker.called("pull")
    assert available.registry() and available.registry()
    assert len(docker.called("pull")) == 1


@pytest.mark.parametrize(
    "stderr",
    [
        "dial tcp: lookup registry-1.docker.io: no such host",
        "toomanyrequests: rate limit",
        "i/o timeout",
    ],
)
def test_an_engine_that_gets_no_answer_has_no_registry(stderr: str) -> None:
    docker = FakeDocker()
    docker.on("^pull", answer(code=1, stderr=stderr))
    assert not registry_reachable(docker)


def test_every_build_of_the_catalog_has_its_folder_and_names() -> None:
    assert build_folders(CATALOG) == {"mysql": "mysql", "client": "client"}
    assert series_builds(CATALOG) == [ALIAS, "sandbox/client:1-bookworm"]
    exact = [EXACT, "sandbox/mysql:9.7.3-ds-1-forky", "sandbox/mysql:9.7.4-1-experimental"]
    assert expected_builds(CATALOG) == [ALIAS, "sandbox/client:1-bookworm", *exact]


def test_an_exact_version_is_not_pinned(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reference says it all; a pin would hold the series to it."""
    monkeypatch.setattr("sandbox.stack.images.load_lock", Lock)
    docker = FakeDocker()
    docker.on("RepoTags.* sandbox/client", answer(json.dumps(["sandbox/client:1.0.20-5-bookworm"])))
    here = Availability(
        frozenset({EXACT, "sandbox/client:1-bookworm"}), packages={EXACT: "9.7.4-2"}
    )
    lock = lock_images(planned("mysql@9.7.4", here), docker, images / "lock.yaml")
    assert lock.built == {"sandbox/client:1-bookworm": "sandbox/client:1.0.20-5-bookworm"}


def test_lock_pins_digests_and_package_versions(
    images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sandbox.stack.images.load_lock", lambda: Lock(published={"kept:1": "sha256:0"})
    )
    docker = FakeDocker()
    docker.on(
        "RepoDigests.* mysql:8.4.11$", answer(json.dumps(["other@sha256:2", "mysql@sha256:1"]))
    )
    docker.on(
        "RepoTags.* sandbox/client",
        answer(json.dumps(["sandbox/client:1-bookworm", "sandbox/client:1.0.20-5-bookworm"])),
    )
    plan = planned(
        "mysql@8.4", Availability(local=frozenset({"mysql:8.4.11", "sandbox/client:1-bookworm"}))
    )
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


def test_an_image_with_its_alias_alone_cannot_be_pinned(images: Path) -> None:
    docker = FakeDocker()
    docker.on("RepoDigests", answer('["mysql@sha256:1"]'))
    docker.on("RepoTags", answer('["sandbox/client:1-bookworm"]'))
    plan = planned(
        "mysql@8.4", Availability(local=frozenset({"mysql:8.4.11", "sandbox/client:1-bookworm"}))
    )
    with pytest.raises(SandboxError) as without:
        lock_images(plan, docker, images / "lock.yaml")
    assert without.value.exit_code == ExitCode.ENVIRONMENT
    assert without.value.what == "sandbox/client:1-bookworm has no name with its package version"
    assert not (images / "lock.yaml").exists()


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class ImageStore(FakeDocker):
    """An engine's images by name; ``load`` brings one that takes the names of its archive."""

    def __init__(
        self, named: dict[str, str], brings: tuple[str, ...] = (), fails: bool = False
    ) -> None:
        super().__init__()
        self.named, self.brings, self.fails = named, brings, fails
        self.on("^image inspect", self._known)
        self.on("^load", self._loaded)
        self.on("^tag ", self._tagged)
        self.on("^rmi ", self._removed)

    def _known(self, argv: tuple[str, ...]) -> ExecResult:
        found = argv[-1] if argv[-1] in self.named.values() else self.named.get(argv[-1])
        return answer(f"{found}\n") if found else answer(code=1, stderr="No such image")

    def _loaded(self, argv: tuple[str, ...]) -> ExecResult:
        self.named |= dict.fromkeys(self.brings, LOADED)
        if not self.brings:
            self.named["<none>"] = LOADED
        output = (
            "".join(f"Loaded image: {name}\n" for name in self.brings)
            or f"Loaded image ID: {LOADED}\n"
        )
        return answer(code=1, stderr="no space left on device") if self.fails else answer(output)

    def _tagged(self, argv: tuple[str, ...]) -> ExecResult:
        source = self.named.get(argv[1], argv[1])
        self.named[argv[2]] = source
        return answer()

    def _removed(self, argv: tuple[str, ...]) -> ExecResult:
        return answer() if self.named.pop(argv[1], None) else answer(code=1)


def archive(folder: Path, *images: dict[str, Any], name: str = "image.tar") -> str:
    """An archive of ``docker save``, as far as it is read here."""
    path = folder / name
    with tarfile.open(path, "w") as file:
        body = json.dumps(images).encode()
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(body)
        file.addfile(entry, io.BytesIO(body))
    return str(path)


@pytest.mark.parametrize("word", ["mysql:9.7.2", PUBLISHED])
def test_a_local_tag_or_identity_is_the_image_that_it_names(word: str) -> None:
    store = ImageStore({"mysql:9.7.2": PUBLISHED})
    with image_override(word, "HEAD_IMAGE", store) as identity:
        assert identity == PUBLISHED
    assert store.named == {"mysql:9.7.2": PUBLISHED}


def test_what_is_not_here_is_refused_in_three_lines_and_never_pulled() -> None:
    store = ImageStore({})
    with pytest.raises(SandboxError) as refused, image_override("mine:1", "HEAD_IMAGE", store):
        pass
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert refused.value.lines()[0] == "HEAD_IMAGE=mine:1 is not on this engine"
    assert not store.called("pull")


def test_an_archive_is_loaded_and_removed_again(tmp_path: Path) -> None:
    store = ImageStore({}, brings=("mine:1",))
    with image_override(
        archive(tmp_path, {"RepoTags": ["mine:1"]}), "HEAD_IMAGE", store
    ) as identity:
        assert identity == LOADED
        (kept,) = store.named
        assert kept.startswith("sandbox/given:")
    assert store.named == {}


def test_an_archive_that_calls_itself_what_is_published_does_not_become_the_base(
    tmp_path: Path,
) -> None:
    store = ImageStore({"mysql:9.7.2": PUBLISHED}, brings=("mysql:9.7.2",))
    with image_override(
        archive(tmp_path, {"RepoTags": ["mysql:9.7.2"]}), "HEAD_IMAGE", store
    ) as identity:
        assert identity == LOADED and store.named["mysql:9.7.2"] == PUBLISHED
    assert store.named == {"mysql:9.7.2": PUBLISHED}


def test_an_image_that_was_here_already_stays(tmp_path: Path) -> None:
    store = ImageStore({"mine:1": LOADED}, brings=("mine:1",))
    with image_override(archive(tmp_path, {"RepoTags": ["mine:1"]}), "HEAD_IMAGE", store):
        pass
    assert store.named == {"mine:1": LOADED}


def test_an_archive_without_a_name_is_found_by_its_identity(tmp_path: Path) -> None:
    store = ImageStore({})
    with image_override(archive(tmp_path, {"RepoTags": None}), "HEAD_IMAGE", store) as identity:
        assert identity == LOADED


def test_a_load_that_fails_gives_names_back_too(tmp_path: Path) -> None:
    store = ImageStore({"mysql:9.7.2": PUBLISHED}, brings=("mysql:9.7.2",), fails=True)
    word = archive(tmp_path, {"RepoTags": ["mysql:9.7.2"]})
    with (
        pytest.raises(SandboxError, match="docker load failed"),
        image_override(word, "HEAD_IMAGE", store),
    ):
        pass
    assert store.named == {"mysql:9.7.2": PUBLISHED}


def test_a_load_that_names_no_image_is_reported_and_gives_names_back(tmp_path: Path) -> None:
    store = ImageStore({"mysql:9.7.2": PUBLISHED}, brings=("mysql:9.7.2",))
    store.on(
        "^load", lambda argv: answer(store._loaded(argv).stdout.replace("Loaded image", "Imported"))
    )
    word = archive(tmp_path, {"RepoTags": ["mysql:9.7.2"]})
    with pytest.raises(SandboxError) as refused, image_override(word, "HEAD_IMAGE", store):
        pass
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert refused.value.known == "docker load names no image: Imported: mysql:9.7.2"
    assert store.named == {"mysql:9.7.2": PUBLISHED}


def test_what_is_no_archive_of_one_image_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "text.tar").write_text("no archive")
    wrong = {
        str(tmp_path / "absent.tar"): "No such file",
        str(tmp_path / "text.tar"): "",
        archive(tmp_path): "it contains 0 images",
        archive(
            tmp_path, {"RepoTags": []}, {"RepoTags": []}, name="two.tar.gz"
        ): "it contains 2 images",
    }
    for word, known in wrong.items():
        store = ImageStore({})
        with pytest.raises(SandboxError) as refused, image_override(word, "BASE_IMAGE", store):
            pass
        assert refused.value.what == f"BASE_IMAGE={word} is not a valid image archive"
        assert refused.value.exit_code is ExitCode.ENVIRONMENT and known in refused.value.known
        assert not store.called("load")


def test_volumes_are_what_the_image_declares() -> None:
    store = ImageStore({})
    store.on("^image inspect .*Volumes", answer('{"/var/lib/mysql":{}}\n'))
    assert volumes_of(PUBLISHED, store) == {"/var/lib/mysql"}
    store.on("^image inspect .*Volumes", answer("null\n"))
    assert volumes_of(PUBLISHED, store) == set()

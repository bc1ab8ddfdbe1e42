"""An image of the user's own: found or loaded, and no name changes hands by it."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.stack.image_override import image_override, volumes_of
from sandbox.stack.protocol import ExecResult
from unit.stack.fake_docker import FakeDocker, answer

LOADED = "sha256:" + "b" * 64
PUBLISHED = "sha256:" + "a" * 64


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class ImageStore(FakeDocker):
    """An engine's images by name; ``load`` brings one that takes the names of its archive."""

    def __init__(self, named: dict[str, str], brings: tuple[str, ...] = (), fails: bool = False) -> None:
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
        told = "".join(f"Loaded image: {name}\n" for name in self.brings) or f"Loaded image ID: {LOADED}\n"
        return answer(code=1, stderr="no space left on device") if self.fails else answer(told)

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
    with image_override(archive(tmp_path, {"RepoTags": ["mine:1"]}), "HEAD_IMAGE", store) as identity:
        assert identity == LOADED
        (kept,) = store.named
        assert kept.startswith("sandbox/given:")
    assert store.named == {}


def test_an_archive_that_calls_itself_what_is_published_does_not_become_the_base(tmp_path: Path) -> None:
    store = ImageStore({"mysql:9.7.2": PUBLISHED}, brings=("mysql:9.7.2",))
    with image_override(archive(tmp_path, {"RepoTags": ["mysql:9.7.2"]}), "HEAD_IMAGE", store) as identity:
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
    with pytest.raises(SandboxError, match="docker load failed"), image_override(word, "HEAD_IMAGE", store):
        pass
    assert store.named == {"mysql:9.7.2": PUBLISHED}


def test_what_is_no_archive_of_one_image_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "text.tar").write_text("no archive")
    wrong = {
        str(tmp_path / "absent.tar"): "No such file",
        str(tmp_path / "text.tar"): "",
        archive(tmp_path): "it contains 0 images",
        archive(tmp_path, {"RepoTags": []}, {"RepoTags": []}, name="two.tar.gz"): "it contains 2 images",
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

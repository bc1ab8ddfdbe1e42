"""The user's own images on an engine: asked once what is in them, refused before anything starts,
pulled where they are not here.
"""

import json
import os
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.images import Availability, ImageChoice
from sandbox.stack import supply
from sandbox.stack.own_images import asker, refusal_of_absent, refuse_stray_volumes
from sandbox.stack.supply import needs_supply
from sandbox.stack.supply import supply as bring
from unit.profile.small_library import CATALOG, plan
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events

SAID = "mysqld --version\tmysqld  Ver 8.4.9 for Linux\nproxy -v\t\nuser\t101:102\nend\n"
GIVEN = ImageChoice("mysql", "8.4", "8.4.11", "ghcr.io/me/mysql:1", "pull", "given")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine with one image of the user's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fake = FakeDocker()
    fake.on("^image inspect .*own:1$", answer("sha256:abc\n"))
    fake.on("^image inspect .*other:1$", answer(code=1, stderr="No such image"))
    fake.on("^run", answer(SAID))
    return fake


def test_an_image_is_asked_once_and_kept(docker: FakeDocker) -> None:
    for _ in range(2):
        said = asker(docker, CATALOG)("own:1")
        assert said is not None and said.identity == "sha256:abc" and said.user == "101:102"
        assert said.said == {"mysqld --version": "mysqld  Ver 8.4.9 for Linux"}
        assert said.version(("mysqld", "--version")) == "8.4.9"
        assert said.version(("proxy", "-v")) is None
    (run,) = docker.called("run")
    assert {"--rm", "none"} <= set(run) and run[-2:] == ("mysqld --version", "proxy -v")
    assert any(word.startswith("sandbox.stack=") for word in run), "`make down` finds it"


def test_an_image_that_is_not_here_is_not_asked(docker: FakeDocker) -> None:
    assert asker(docker, CATALOG)("other:1") is None and not docker.called("run")


def test_an_image_that_does_not_answer_says_nothing_and_is_asked_again(docker: FakeDocker) -> None:
    docker.on("^run", answer(code=125, stderr="exec format error"))
    for _ in range(2):
        said = asker(docker, CATALOG)("own:1")
        assert said is not None and said.said == {}
    assert len(docker.called("run")) == 2


def test_a_volume_that_the_component_does_not_mount_is_refused(docker: FakeDocker) -> None:
    made = plan("mysql", Availability(frozenset({"own:1"})), images=("mysql=own:1",))
    docker.on("Volumes", answer(json.dumps({"/var/lib/mysql": {}, "/var/lib/other": {}})))
    with pytest.raises(SandboxError, match="own:1 declares a volume that mysql") as refused:
        refuse_stray_volumes(made, docker)
    assert refused.value.known == "/var/lib/other; mounted: /shared, /var/lib/mysql"
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    docker.on("Volumes", answer('{"/var/lib/mysql": {}}'))
    refuse_stray_volumes(made, docker)


def test_images_of_the_catalog_are_not_asked_for_their_volumes(docker: FakeDocker) -> None:
    refuse_stray_volumes(plan("mysql"), docker)
    assert not docker.calls


def test_what_cannot_be_had_is_named_with_its_option() -> None:
    made = plan("mysql", Availability(), images=("mysql=mine:1",))
    refusal = refusal_of_absent([made.node("mysql1")])
    assert refusal is not None and refusal.what.startswith("IMAGE: mine:1 is not on this engine")
    assert refusal.next_step == "try: docker pull mine:1"
    assert refusal_of_absent([made.node("client1")]) is None
    made = plan("mysql", Availability(ask=lambda _: None), images=("mysql=sha256:1",))
    refusal = refusal_of_absent([made.node("mysql1")])
    assert refusal is not None and "image ls" in refusal.next_step


def test_an_image_of_the_users_own_is_pulled(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = tmp_path / "docker"
    client.write_text('#!/bin/sh\necho "$*" >"$0.said"\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    docker.on("^image inspect", answer(code=1))
    bring([GIVEN], Events(), docker)
    assert client.with_suffix(".said").read_text() == "pull ghcr.io/me/mysql:1\n"


def test_the_plan_is_made_again_when_an_image_says_what_it_is() -> None:
    made = plan("mysql", images=("mysql=ghcr.io/me/mysql:1",))
    assert needs_supply(made)
    known = [node.choice for node in made.nodes if supply._is_known_when_here(node.choice)]
    assert GIVEN.reference in {choice.reference for choice in known}

"""The helper container: gone with its command, however that ends."""

import pytest

from sandbox.plan.compose import Identity
from sandbox.stack.snapshots.helper import CopyHelper
from unit.stack.fake_docker import FakeDocker

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

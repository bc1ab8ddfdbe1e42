"""doctor tries a private network for real: containers that reach one another, and ones that are
kept apart.
"""

from collections.abc import Sequence

import pytest

from integration.live import leftovers, sandbox
from sandbox.profile.images import built_alias
from sandbox.profile.reader import load_library
from sandbox.stack.doctor import reachable_listener
from sandbox.stack.engine import Docker, Pending
from sandbox.stack.naming import project_name

pytestmark = pytest.mark.docker


class KeptApart(Docker):
    """Makes networks whose containers the engine's own firewall rules keep from one another."""

    def begin(self, *argv: str, stdin: str | None = None, pass_fds: Sequence[int] = ()) -> Pending:
        """As asked, but for that one option."""
        if argv[:2] == ("network", "create"):
            argv = (*argv[:2], "--opt", "com.docker.network.bridge.enable_icc=false", *argv[2:])
        return super().begin(*argv, stdin=stdin, pass_fds=pass_fds)


@pytest.fixture(scope="module")
def image() -> str:
    """The client image, here."""
    sandbox("images", "--profile", "mariadb@11.8")
    client = load_library().catalog.images["client"]
    build = client.series[client.default].build
    assert build is not None
    return built_alias("client", client.default, build.suite)


def test_containers_reach_one_another_and_nothing_stays(image: str) -> None:
    with reachable_listener(Docker(), image) as reach:
        assert reach().state == "ok"
    assert leftovers(f"sandbox.stack={project_name('doctor')}") == []


@pytest.mark.long
def test_containers_that_are_kept_apart_are_found_and_nothing_stays(image: str) -> None:
    with reachable_listener(KeptApart(), image) as reach:
        found = reach()
    assert found.state == "missing" and not found.detail.endswith(": ")
    assert leftovers(f"sandbox.stack={project_name('doctor')}") == []

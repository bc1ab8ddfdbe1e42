"""The gate on real servers: an image of one's own runs, and a head that does not start is never a
regression.
"""

import json
import uuid

import pytest

from integration.live import CHECKOUT, leftovers, run, sandbox
from sandbox.profile.plan import PlanRequest
from sandbox.stack.engine import Docker
from sandbox.stack.images import image_override
from sandbox.stack.lifecycle import down
from sandbox.stack.naming import project_name
from sandbox.stack.planning import planned
from sandbox.stack.up import UpOptions, up

pytestmark = pytest.mark.docker


def test_an_image_of_ones_own_runs_in_the_place_of_the_databases() -> None:
    sandbox("images", "--profile", "mysql@9.7")
    docker, word = Docker(), uuid.uuid4().hex[:8]
    name, tag = f"t-{word}", f"sandbox-test/head:{word}"
    run(["docker", "tag", planned(PlanRequest("mysql@9.7")).databases[0].image, tag])
    try:
        with image_override(tag, "HEAD_IMAGE", docker) as identity:
            plan = planned(PlanRequest("mysql@9.7", images=(identity,)))
            server, client = up(plan, UpOptions(name), lambda _: None, docker).stack.nodes()
        assert (server.image_source, server.image_id) == ("given", identity)
        assert client.image_source != "given"
    finally:
        down(name, lambda _: None, docker)
        run(["docker", "rmi", tag])


@pytest.mark.long
def test_a_head_that_does_not_start_is_the_environment_with_the_end_of_its_log() -> None:
    word = f"no_such_variable_{uuid.uuid4().hex[:8]}"
    done = sandbox("smoke", "--profile", "mysql@9.7", "--head-set", f"{word}=1", check=False)
    assert done.returncode == 4, done.stderr[-3000:]
    assert "the environment failed" in done.stdout and f"unknown variable '{word}=1'" in done.stdout
    assert done.stderr.splitlines()[-3] == "the smoke benchmark could not be run"
    newest = max(
        (CHECKOUT / "results").glob("2*-matrix-smoke*/smoke.md"),
        key=lambda path: path.stat().st_mtime,
    )
    assert newest.read_text() == done.stdout
    key = json.loads((newest.parent / "manifest.json").read_text())["matrix"]["key"][:6]
    for variant in ("variant1", "variant2", "canary"):
        assert not leftovers(f"sandbox.stack={project_name(f'matrix-{key}-{variant}')}")

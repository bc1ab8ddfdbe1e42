"""doctor: every prerequisite with its state and the fix, also where little can be known."""

import json

import pytest

from sandbox.stack.doctor import Check, KernelTrial, examine, reachable_listener
from sandbox.stack.images import build_folders, series_builds
from sandbox.stack.protocol import ExecResult
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import running_stack

TRIED = """netem no Error: Specified qdisc kind is unknown.
tbf yes\u0020
iptables yes\u0020
write-limit yes /cgroup/system.slice/docker-0.scope/io.max
governor yes powersave
disk yes 70000
"""


@pytest.fixture
def docker() -> FakeDocker:
    """An engine with Compose and every image of the catalog, from the recipes as they are."""
    from sandbox.profile.reader import load_library
    from sandbox.stack.images import recipe

    fake = FakeDocker()
    catalog = load_library().catalog
    folders, aliases = build_folders(catalog), series_builds(catalog)
    recipes = {
        alias: recipe(folders[alias.removeprefix("sandbox/").partition(":")[0]])
        for alias in aliases
    }
    labels = [
        json.dumps({"tags": [alias], "recipe": each, "package": None})
        for alias, each in recipes.items()
    ]
    fake.on("^image ls", answer("\n".join(aliases)))
    fake.on("^image inspect", answer("\n".join(labels)))
    fake.on("^compose version", answer("2.26.1-4\n"))
    fake.on("^run .*NET_ADMIN", answer(TRIED))
    fake.on("^run .*loop-control", answer("loop yes 0\n"))
    fake.on("^run .*create_connection", answer())
    fake.on("^run .*create_server", answer("listening\n"))
    fake.on("^pull", answer(code=1, stderr="no such host"))
    return fake


def checks(docker: FakeDocker) -> dict[str, Check]:
    """Checks by name."""
    return {check.name: check for check in examine(docker)}


def test_everything_of_the_issue_is_examined(docker: FakeDocker) -> None:
    assert checks(docker).keys() == {
        "engine",
        "compose",
        "registry",
        "images",
        "leftovers",
        "disk",
        "memory",
        "cgroup",
        "governor",
        "netem",
        "tbf",
        "iptables",
        "write-limit",
        "loop",
        "network",
    }


def test_states_are_what_was_found(docker: FakeDocker) -> None:
    found = checks(docker)
    states = {name: check.state for name, check in found.items() if check.state != "ok"}
    assert states == {"registry": "warning", "governor": "warning", "netem": "warning"}
    assert "qdisc kind is unknown" in found["netem"].detail
    assert found["disk"].detail == "68.4 GiB free"
    assert "cgroup" in found and "version 2" in found["cgroup"].detail
    assert all(check.fix for check in found.values() if check.state == "warning")


def test_the_helpers_are_labelled_short_lived_and_not_privileged(docker: FakeDocker) -> None:
    examine(docker)
    runs = docker.called("run")
    assert len(runs) == 4
    for run in (*runs, *docker.called("network", "create")):
        assert run[0] == "network" or "--rm" in run
        assert any(word.startswith("sandbox.stack=") for word in run)
        assert "--privileged" not in run


def test_without_the_client_image_abilities_are_unknown_and_the_fix_is_said() -> None:
    kernel = KernelTrial(FakeDocker(), None)
    assert {(each.state, each.fix) for each in kernel.abilities()} == {("unknown", "make images")}
    assert kernel.governor() is None and kernel.disk_mb() is None
    with reachable_listener(FakeDocker(), None) as reach:
        assert reach().state == "unknown"


def test_containers_that_do_not_reach_one_another_are_reported_with_the_reason(
    docker: FakeDocker,
) -> None:
    said = "Traceback\nOSError: [Errno 113] No route to host\n"
    docker.on("^run .*create_connection", answer(code=1, stderr=said))
    network = checks(docker)["network"]
    assert network.state == "missing" and "No route to host" in network.detail
    assert "systemd-networkd" in network.fix
    (made,) = docker.called("network", "create")
    assert docker.called("network", "rm") == [("network", "rm", made[-1])]


def test_a_container_that_does_not_start_is_reported_and_nothing_calls_it(
    docker: FakeDocker,
) -> None:
    docker.on("^run .*create_server", answer("docker: no space left on device\n", code=125))
    assert "no space left" in checks(docker)["network"].detail
    assert not [run for run in docker.called("run") if "create_connection" in run[-1]]


def test_a_warning_of_the_engine_is_no_refusal(docker: FakeDocker) -> None:
    docker.on("^network create", answer("id\n", stderr="WARNING: a setting is deprecated"))
    assert checks(docker)["network"].state == "ok"


@pytest.mark.parametrize("during", ["^network create", "^run .*create_server", "^compose version"])
def test_an_interrupted_examination_takes_its_network_away(docker: FakeDocker, during: str) -> None:
    def interrupt(_: tuple[str, ...]) -> ExecResult:
        raise KeyboardInterrupt

    docker.on(during, interrupt)
    with pytest.raises(KeyboardInterrupt):
        examine(docker)
    assert len(docker.called("network", "create")) == len(docker.called("network", "rm")) == 1


def test_an_engine_that_gives_no_network_is_a_finding(docker: FakeDocker) -> None:
    docker.on(
        "^network create",
        answer(code=1, stderr="all predefined address pools have been fully subnetted"),
    )
    assert "address pools" in checks(docker)["network"].detail


def test_an_engine_that_does_not_answer_is_the_one_finding() -> None:
    docker = FakeDocker()
    docker.on(
        "^info",
        answer(
            code=1,
            stderr=(
                "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"
            ),
        ),
    )
    (only,) = examine(docker)
    assert (only.name, only.state) == ("engine", "missing")
    assert only.fix


@pytest.mark.parametrize(
    ("version", "state"), [("2.23.1", "ok"), ("2.22.0", "missing"), ("5.0.0", "ok")]
)
def test_an_older_compose_is_reported(docker: FakeDocker, version: str, state: str) -> None:
    docker.on("^compose version", answer(f"{version}\n"))
    assert checks(docker)["compose"].state == state


def test_leftovers_of_a_crash_are_named(docker: FakeDocker) -> None:
    running_stack(docker, "mysql", name="crashed")
    docker.state("mysql1", "exited")
    docker.state("client1", "created")
    assert "crashed" in checks(docker)["leftovers"].detail

"""Disks of their own: made before all else, found by a volume and by names of devices, gone before
that volume.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.profile.compose import compose_document, plan_hash
from sandbox.profile.templates import PLACEHOLDER
from sandbox.stack.in_helper import loop_disks
from sandbox.stack.inventory import inventory
from sandbox.stack.lifecycle import down
from sandbox.stack.naming import identity, project_name
from sandbox.stack.protocol import ExecResult
from sandbox.stack.up import UpOptions, up
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, local_plan

PROFILE, DISK = "mysql+replica1", "ext4:2g"
PROJECT = project_name("a")
DISKS = f"{PROJECT}_disks"
VOLUMES = ["mysql1-data", "replica1-data"]


class Kernel:
    """Loop devices, and a volume that the helper's mount creates."""

    def __init__(self, docker: FakeDocker) -> None:
        self.docker, self.attached, self.busy = docker, list[str](), False
        docker.on("in_helper|--device-cgroup-rule", self._helper)
        docker.on("^volume create", self._create)
        docker.on(
            "^volume inspect", lambda argv: answer(docker.volumes[argv[-1]]["sandbox.image"] + "\n")
        )

    def _helper(self, argv: tuple[str, ...]) -> ExecResult:
        request = json.loads(argv[-1])
        if "make" not in request:
            assert not [name for name in self.docker.volumes if name != DISKS], (
                "what is mounted cannot be detached"
            )
            self.attached = self.attached if self.busy else []
            return answer(code=1, stderr="loop0: in use still") if self.busy else answer()
        (mount,) = [argv[place + 1] for place, word in enumerate(argv) if word == "--mount"]
        labels = [
            part.removeprefix("volume-label=")
            for part in mount.split(",")
            if part.startswith("volume-label=")
        ]
        self.docker.volumes[DISKS] = dict(label.split("=", 1) for label in labels)
        self.attached = [f"/dev/loop{number}" for number in range(len(request["make"]))]
        return answer(json.dumps(dict(zip(request["make"], self.attached, strict=True))))

    def _create(self, argv: tuple[str, ...]) -> ExecResult:
        assert not self.docker.called("compose"), "Compose would make it without its disk"
        labels = [argv[place + 1] for place, word in enumerate(argv) if word == "--label"]
        self.docker.volumes[argv[-1]] = dict(label.split("=", 1) for label in labels)
        return answer()


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = FakeDocker()
    fake.on("sh /sandbox/probe role", answer("writer\n"))
    return fake


@pytest.fixture
def kernel(docker: FakeDocker) -> Kernel:
    return Kernel(docker)


def bring_up(docker: FakeDocker) -> None:
    up(local_plan(PROFILE, disk=DISK), UpOptions("a"), Events(), docker)


def helpers(docker: FakeDocker) -> list[dict[str, Any]]:
    """What each helper was asked."""
    return [json.loads(call[-1]) for call in docker.called("run") if "--device-cgroup-rule" in call]


def test_a_plan_with_a_disk_is_another_one_and_its_data_volumes_say_so() -> None:
    plan = local_plan(PROFILE, disk=DISK)
    assert plan_hash(plan) != plan_hash(local_plan(PROFILE))
    volumes = compose_document(plan, PLACEHOLDER, identity("a"))["volumes"]
    assert {
        name: body["x-disk"] for name, body in volumes.items() if "x-disk" in body
    } == dict.fromkeys(VOLUMES, DISK)


def test_every_data_volume_is_made_of_a_device_before_compose_takes_it(
    docker: FakeDocker, kernel: Kernel
) -> None:
    bring_up(docker)
    assert helpers(docker) == [
        {"project": PROJECT, "make": VOLUMES, "kind": "ext4", "bytes": 2 << 30}
    ]
    made = {call[-1]: call for call in docker.called("volume", "create")}
    assert list(made) == [f"{PROJECT}_{name}" for name in VOLUMES]
    for number, call in enumerate(made.values()):
        assert {
            "type=ext4",
            f"device=/dev/loop{number}",
            f"com.docker.compose.project={PROJECT}",
        } <= {*call}
    assert docker.volumes[DISKS]["sandbox.stack"] == PROJECT


def test_the_helper_may_make_device_nodes_and_nothing_else(
    docker: FakeDocker, kernel: Kernel
) -> None:
    bring_up(docker)
    run = next(call for call in docker.called("run") if "--device-cgroup-rule" in call)
    assert run[run.index("--cap-drop") + 1] == "ALL" and "--privileged" not in run and "--rm" in run
    assert [run[place + 1] for place, word in enumerate(run) if word == "--cap-add"] == ["MKNOD"]
    assert f"sandbox.stack={PROJECT}" in run and "sandbox.kind=helper" in run


def test_what_was_copied_to_a_disk_is_on_it_before_the_stack_is_used(
    docker: FakeDocker, kernel: Kernel
) -> None:
    docker.on("sync -f", answer())
    up(local_plan(PROFILE, disk=DISK), UpOptions("a"), Events(), docker)
    assert (
        len(
            {
                call[3]
                for call in docker.called("exec")
                if call[-3:] == ("sync", "-f", "/var/lib/mysql")
            }
        )
        == 2
    )
    assert docker.calls[-1][-3:] == ("sync", "-f", "/var/lib/mysql") and kernel.attached


def test_a_stack_without_a_disk_has_none(docker: FakeDocker, kernel: Kernel) -> None:
    up(local_plan(PROFILE), UpOptions("a"), Events(), docker)
    assert not helpers(docker) and DISKS not in docker.volumes
    down("a", Events(), docker)
    assert not helpers(docker)


def test_down_detaches_once_nothing_is_mounted_any_more(docker: FakeDocker, kernel: Kernel) -> None:
    bring_up(docker)
    down("a", Events(), docker)
    assert helpers(docker)[-1] == {"project": PROJECT} and not kernel.attached
    assert inventory(docker).empty
    down("a", Events(), docker)
    assert len(helpers(docker)) == 2, "there is nothing to detach"


def test_what_a_killed_start_left_is_detached(docker: FakeDocker, kernel: Kernel) -> None:
    docker.volumes[DISKS] = {
        "sandbox.stack": PROJECT,
        "sandbox.checkout": "x",
        "sandbox.image": "client",
    }
    kernel.attached = ["/dev/loop0"]
    assert down("a", Events(), docker).anything and not kernel.attached
    (run,) = docker.called("run")
    assert (
        run[run.index("--entrypoint") + 2] == "client" and run[run.index("--pull") + 1] == "never"
    )


def test_a_device_that_stays_keeps_the_volume_by_which_it_is_found(
    docker: FakeDocker, kernel: Kernel
) -> None:
    bring_up(docker)
    kernel.busy = True
    with pytest.raises(MachineError) as stays:
        down("a", Events(), docker)
    assert stays.value.known == "loop0: in use still" and DISKS in docker.volumes
    kernel.busy = False
    down("a", Events(), docker)
    assert inventory(docker).empty


def test_a_kernel_without_loop_devices_is_an_error_before_anything_starts(
    docker: FakeDocker, kernel: Kernel
) -> None:
    docker.on(
        "--device-cgroup-rule.*make",
        answer(code=1, stderr="Operation not permitted: /dev/loop-control"),
    )
    with pytest.raises(SandboxError) as refused:
        bring_up(docker)
    assert (
        refused.value.exit_code is ExitCode.ENVIRONMENT
        and "Operation not permitted" in refused.value.known
    )
    assert refused.value.next_step.startswith("try: make doctor "), "a command"
    assert not docker.called("compose") and not docker.called("start") and inventory(docker).empty


def test_a_file_system_that_the_kernel_cannot_mount_is_an_error_that_leaves_nothing(
    docker: FakeDocker, kernel: Kernel
) -> None:
    said = (
        "Error response from daemon: failed to mount local volume: mount /dev/loop0: no such device"
    )
    docker.on("^compose", answer(code=1, stderr=said))
    with pytest.raises(SandboxError) as refused:
        bring_up(docker)
    assert (
        refused.value.exit_code is ExitCode.ENVIRONMENT and "no such device" in refused.value.known
    )
    assert "DISK=ext4:4g" in refused.value.next_step
    assert not kernel.attached and inventory(docker).empty


def test_the_structures_have_the_kernels_sizes() -> None:
    assert (loop_disks.STATUS.size, loop_disks.CONFIGURATION.size) == (232, 304)


@pytest.mark.parametrize("name", ["a", "x" * 40])
def test_the_name_of_a_device_fits_and_has_the_whole_project(name: str) -> None:
    project = project_name(name)
    made = loop_disks.name_of(project, "galera1-data").decode()
    assert made.startswith(f"{project}/g") and len(made) <= 63


def test_only_devices_of_the_project_are_detached(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {
        "loop0": b"sandbox-a-1/x",
        "loop1": b"sandbox-a-12/x",
        "loop2": b"",
        "loop3": b"/var/lib/snapd/core.snap",
    }
    monkeypatch.setattr(loop_disks, "in_use", lambda: list(names))
    monkeypatch.setattr(loop_disks, "name_on", lambda device: names[device])
    assert loop_disks.devices_of("sandbox-a-1") == ["loop0"]

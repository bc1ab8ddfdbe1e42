"""Trials that are interrupted or killed at random moments, some with their guard: nothing stays
broken.
"""

import contextlib
import json
import os
import random
import re
import select
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from integration.live import (
    CHECKOUT,
    SANDBOX,
    LiveStack,
    leftovers,
    live_stack,
    run,
    run_statuses,
    sandbox,
)
from integration.test_disks import loop_devices
from sandbox.stack.naming import project_name

pytestmark = [pytest.mark.docker, pytest.mark.long]
PROFILE = "galera3+haproxy"
MOMENTS = 8
MOMENTS_OF_A_DISK = 4
"""Drawn anew in every run, from a seed that is printed: nights add up to more moments than one run
could try.
"""
LATEST_S = 14.0
"""After the start: a trial breaks something 8 to 9 s after it, and heals it after 4 more."""
FAULTS = (
    "server-crash",
    "host-loss",
    "hang",
    "unplug",
    "partition",
    "loss",
    "reset",
    "bandwidth",
    "slow-node",
    "graceful",
)
OF_A_DISK = ("disk-full", "slow-disk", "power-loss", "out-of-memory")
ENDED_S = 90
"""A trial that Ctrl-C ends heals first, and a server that lost its power may take its time."""
STATE = "{{.State.Status}} {{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}"
WEIGHT = "{{.HostConfig.CpuShares}}"
PROCESSORS = "{{.HostConfig.NanoCpus}}"
MEMORY = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}"


@pytest.fixture(scope="module")
def on_a_disk() -> Iterator[LiveStack]:
    """A server whose data have a disk of their own."""
    with live_stack("mysql@9.7", "--disk", "ext4:1g") as live:
        yield live
    assert loop_devices(live.name) == []


def inspected(stack: LiveStack, template: str) -> dict[str, str]:
    """What the engine says of each node."""
    containers = stack.containers()
    lines = run(
        ["docker", "inspect", "-f", template, *(each for _, each in containers.values())]
    ).stdout.splitlines()
    return dict(zip(containers, lines, strict=True))


def helpers(stack: LiveStack) -> list[str]:
    """Containers that share the network of a node."""
    found = run(["docker", "ps", "-a", "--format", "{{.Names}}"]).stdout.split()
    return [name for name in found if re.fullmatch(rf".*{stack.name}.*-network", name)]


def rules(stack: LiveStack, node: str, client_image: str) -> str:
    """Every rule of the packet filter and of the queue in the node's network namespace.

    Without the interface's number, which may be another one after `docker network connect`.
    """
    namespace = [
        "--network",
        f"container:{stack.container(node)}",
        "--cap-add",
        "NET_ADMIN",
        "--user",
        "0",
    ]
    script = "iptables -S; iptables -t raw -S; tc qdisc show"
    return run(
        ["docker", "run", "--rm", *namespace, "--entrypoint", "bash", client_image, "-c", script]
    ).stdout.replace("eth1", "eth0")


def running(pattern: str) -> list[int]:
    """Process numbers of what runs with such a command line."""
    return [int(number) for number in run(["pgrep", "-f", pattern], check=False).stdout.split()]


def guards(stack: LiveStack) -> list[int]:
    """Process numbers of the guards of this stack's trials."""
    return running(f"sandbox.failure.guard {project_name(stack.name)}")


def ended_trial(stack: LiveStack, draw: random.Random, faults: Sequence[str]) -> str:
    """Starts a trial and ends it at a random moment: by Ctrl-C, by KILL, or with its guard by KILL;
    in words what.
    """
    fault, after_s, way = (
        draw.choice(faults),
        draw.uniform(0.0, LATEST_S),
        draw.choice(("Ctrl-C", "KILL", "both")),
    )
    target = draw.choice(["writer", stack.servers[-1]])
    words = [
        str(SANDBOX),
        "trial",
        "-n",
        stack.name,
        "--fault",
        fault,
        "--target",
        target,
        "--seconds",
        "4",
    ]
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        time.sleep(after_s)  # the moment itself: nothing is waited for
        for number in guards(stack) if way == "both" else []:
            os.kill(number, signal.SIGKILL)
        if way == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)
            process.wait(ENDED_S)
        else:
            process.kill()
    return f"{fault} on {target}, ended after {after_s:.2f} s by {way}"


def wait_for_guards(stack: LiveStack) -> None:
    """A guard that lives heals by itself once its trial is gone."""
    for number in guards(stack):
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            process = os.pidfd_open(number)
            assert select.select([process], [], [], 60)[0], "a guard is still healing"
            os.close(process)
    assert guards(stack) == []


def end_trials(stack: LiveStack, moments: int, faults: Sequence[str]) -> None:
    """So many trials, after each of which the stack is as it was."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    draw, done = random.Random(seed), list[str]()
    client_image = run(
        ["docker", "inspect", "-f", "{{.Config.Image}}", stack.container("client1")]
    ).stdout.strip()
    before = inspected(stack, STATE)
    clean = {node: rules(stack, node, client_image) for node in stack.servers}
    memory = inspected(stack, MEMORY)
    # No limit can be taken back.
    unlimited = run(["docker", "info", "-f", "{{.MemTotal}} -1"]).stdout.strip()
    for _ in range(moments):
        done.append(ended_trial(stack, draw, faults))
        what = f"seed {seed}: {'; '.join(done)}"
        wait_for_guards(stack)
        sandbox("heal", "-n", stack.name)
        shown = sandbox("ps", "--name", stack.name).stdout
        assert "broken on purpose" not in shown and not [
            n["name"] for n in stack.data() if n["ready"] is False
        ], what
        assert inspected(stack, STATE) == before, what
        assert set(inspected(stack, WEIGHT).values()) <= {"0", "1024"}, what
        assert {int(cpus) % 1_000_000_000 for cpus in inspected(stack, PROCESSORS).values()} == {
            0
        }, what
        assert all(
            limit in (memory[node], unlimited) for node, limit in inspected(stack, MEMORY).items()
        ), what
        assert helpers(stack) == [], what
        assert not any(ballast(stack, node) for node in stack.servers), what
    assert {node: rules(stack, node, client_image) for node in stack.servers} == clean, what


def ballast(stack: LiveStack, node: str) -> str:
    """Files that a fault has left in the data directory."""
    return run(
        [
            "docker",
            "exec",
            stack.container(node),
            "sh",
            "-c",
            "ls -A /var/lib/mysql | grep ^.sandbox-b",
        ],
        False,
    ).stdout


def test_nothing_stays_broken_whenever_a_trial_is_ended(stack: LiveStack) -> None:
    end_trials(stack, MOMENTS, FAULTS)


def test_nothing_stays_on_a_disk_whenever_a_trial_is_ended(on_a_disk: LiveStack) -> None:
    end_trials(on_a_disk, MOMENTS_OF_A_DISK, OF_A_DISK)


TRIALS = """\
title: A crash, with and without a proxy
question: Does a killed matrix of trials resume?
common: {profile: "mysql@9.7+replica1", faults: [{at: 4s, fault: hang, for: 4s}]}
factors:
  way: {direct: {}, haproxy: {add: haproxy}}
baseline: {way: direct}
depth: restart
blocks: 2
metrics: [rto_ms]
"""


def finished_one(stem: str) -> list[Path]:
    """The manifest of a matrix, once one of its runs is there."""
    found = (CHECKOUT / "results").glob(f"2*-matrix-{stem}/manifest.json")
    return [manifest for manifest in found if run_statuses(manifest.parent)]


@pytest.mark.alone
def test_a_killed_matrix_of_trials_resumes_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / f"m{uuid.uuid4().hex[:8]}.yaml"
    file.write_text(TRIALS)
    words = [str(SANDBOX), "matrix", "--matrix", str(file)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 300
        while not (manifests := finished_one(file.stem)) or not running(
            "sandbox.failure.guard .*matrix-"
        ):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        after_s = random.SystemRandom().uniform(3.0, 9.0)
        time.sleep(after_s)  # the moment itself: before the fault, during it, or after its heal
        process.kill()
    manifest = manifests[0]
    before = {
        name: status for name, status in run_statuses(manifest.parent).items() if status == "ok"
    }
    done = run(words, check=False, timeout_s=900)
    after = run_statuses(manifest.parent)
    what = f"killed after {after_s:.2f} s: {done.stderr}"
    assert (
        before.items() <= after.items() and len(after) == 6 and manifest.parent.name in done.stdout
    ), what
    key = json.loads(manifest.read_text())["matrix"]["key"][:6]
    for variant in ("variant1", "variant2", "canary"):
        assert not leftovers(f"sandbox.stack={project_name(f'matrix-{key}-{variant}')}"), what

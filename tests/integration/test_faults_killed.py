"""Trials that are killed at random moments, and the guard with them: nothing stays broken, on real servers."""

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from integration.live import SANDBOX, LiveStack, live_stack, run, sandbox
from sandbox.stack.naming import project_name

pytestmark = [pytest.mark.docker, pytest.mark.long]
MOMENTS = 20
LATEST_S = 14.0
"""After the start: a trial breaks something 8 to 9 s after it, and heals it after 4 more."""
FAULTS = ("server-crash", "host-loss", "hang", "unplug", "partition", "loss", "slow-node", "graceful")
STATE = "{{.State.Status}} {{.HostConfig.Memory}} {{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}"
WEIGHT = "{{.HostConfig.CpuShares}}"
PROCESSORS = "{{.HostConfig.NanoCpus}}"


@pytest.fixture(scope="module")
def stack() -> Iterator[LiveStack]:
    """One cluster behind a proxy, healed after each moment."""
    with live_stack("galera3+haproxy") as live:
        yield live


def inspected(stack: LiveStack, template: str) -> dict[str, str]:
    """What the engine says of each node."""
    containers = stack.containers()
    lines = run(["docker", "inspect", "-f", template, *(each for _, each in containers.values())]).stdout.splitlines()
    return dict(zip(containers, lines, strict=True))


def helpers(stack: LiveStack) -> list[str]:
    """Containers that share the network of a node."""
    found = run(["docker", "ps", "-a", "--format", "{{.Names}}"]).stdout.split()
    return [name for name in found if re.fullmatch(rf".*{stack.name}.*-network", name)]


def rules(stack: LiveStack, node: str, client_image: str) -> str:
    """Every rule of the packet filter and of the queue in the node's network namespace.

    Without the interface's number, which may be another one after `docker network connect`.
    """
    namespace = ["--network", f"container:{stack.container(node)}", "--cap-add", "NET_ADMIN", "--user", "0"]
    script = "iptables -S; iptables -t raw -S; tc qdisc show"
    return run(
        ["docker", "run", "--rm", *namespace, "--entrypoint", "bash", client_image, "-c", script]
    ).stdout.replace("eth1", "eth0")


def guards(stack: LiveStack) -> list[int]:
    """Process numbers of the guards of this stack's trials."""
    shown = run(["pgrep", "-f", f"sandbox.faults.common.guard {project_name(stack.name)}"], check=False).stdout
    return [int(number) for number in shown.split()]


def killed_trial(stack: LiveStack, draw: random.Random) -> str:
    """Starts a trial and kills it at a random moment, every other time with its guard; what was done, in words."""
    fault, target, after_s = draw.choice(FAULTS), draw.choice(["writer", "galera2"]), draw.uniform(0.0, LATEST_S)
    with_guard = draw.random() < 0.5
    words = [str(SANDBOX), "trial", "-n", stack.name, "--fault", fault, "--target", target, "--seconds", "4"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(after_s)  # the moment itself: nothing is waited for
        for number in guards(stack) if with_guard else []:
            os.kill(number, signal.SIGKILL)
        process.kill()
    return f"{fault} on {target}, killed after {after_s:.2f} s" + (", with its guard" if with_guard else "")


def wait_for_guards(stack: LiveStack) -> None:
    """A guard that lives heals by itself once its trial is gone."""
    end = time.monotonic() + 60
    while guards(stack):
        assert time.monotonic() < end, "a guard is still healing"
        time.sleep(0.1)


def test_nothing_stays_broken_whenever_a_trial_is_killed(stack: LiveStack) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    draw, moments = random.Random(seed), list[str]()
    client_image = run(["docker", "inspect", "-f", "{{.Config.Image}}", stack.container("client1")]).stdout.strip()
    before = inspected(stack, STATE)
    clean = {node: rules(stack, node, client_image) for node in stack.servers}
    for _ in range(MOMENTS):
        moments.append(killed_trial(stack, draw))
        what = f"seed {seed}: {'; '.join(moments)}"
        wait_for_guards(stack)
        sandbox("heal", "-n", stack.name)
        shown = sandbox("ps", "--name", stack.name).stdout
        assert "broken on purpose" not in shown and not [n["name"] for n in stack.data() if n["ready"] is False], what
        assert inspected(stack, STATE) == before, what
        assert set(inspected(stack, WEIGHT).values()) <= {"0", "1024"}, what
        assert {int(cpus) % 1_000_000_000 for cpus in inspected(stack, PROCESSORS).values()} == {0}, what
        assert helpers(stack) == [], what
    assert {node: rules(stack, node, client_image) for node in stack.servers} == clean, what

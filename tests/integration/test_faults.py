"""Nodes broken on purpose, on real servers: each fault shows and heals, and a trial finds what it is there to find."""

import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from integration.live import SANDBOX, LiveStack, live_stack, run, sandbox

pytestmark = pytest.mark.docker
GALERA = "galera3+haproxy"
LATE = "the probe was late"
"""Why a trial beside other tests may be no measurement; what it found is there all the same."""


@pytest.fixture(scope="module")
def stack() -> Iterator[LiveStack]:
    """One cluster behind a proxy: every fault heals."""
    with live_stack(GALERA) as live:
        yield live


def shown(stack: LiveStack) -> str:
    """`make ps`."""
    return sandbox("ps", "--name", stack.name).stdout


def not_ready(stack: LiveStack) -> list[str]:
    """Nodes that do not answer that they are ready."""
    return [str(node["name"]) for node in stack.data() if node["ready"] is False]


def address_of(stack: LiveStack, node: str) -> str:
    """Its address in the stack's network."""
    template = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return run(["docker", "inspect", "-f", template, stack.container(node)]).stdout.strip()


def connect(stack: LiveStack, address: str, port: int = 3306) -> str:
    """What a new connection from the client gets within two seconds: ``open``, ``refused`` or ``nothing``."""
    script = f"timeout 2 bash -c '</dev/tcp/{address}/{port}' 2>&1; echo $?"
    text = run(["docker", "exec", stack.container("client1"), "bash", "-c", script]).stdout
    code = text.strip().splitlines()[-1]
    return {"0": "open", "1": "refused" if "refused" in text else text, "124": "nothing"}[code]


@pytest.mark.parametrize(
    ("fault", "target", "nodes", "late"),
    [
        ("server-crash", "galera2", ["galera2"], "galera2"),
        ("partition", "galera3", ["galera3"], "galera3"),
        ("hang", "proxy", ["haproxy1"], "haproxy1"),
        ("unplug", "galera3", ["galera3"], "galera3"),
        ("slow-node", "all", ["galera1", "galera2", "galera3"], None),
        ("loss", "galera1", ["galera1"], None),
    ],
)
def test_a_fault_shows_and_heals(stack: LiveStack, fault: str, target: str, nodes: list[str], late: str | None) -> None:
    done = json.loads(sandbox("fault", "-n", stack.name, "--fault", fault, "--target", target, "--json").stdout)
    assert (done["fault"], done["nodes"]) == (fault, nodes)
    try:
        for node in nodes:
            assert f"broken on purpose: {fault} on {node}" in shown(stack)
        end = time.monotonic() + 20
        while late is not None and late not in not_ready(stack):
            assert time.monotonic() < end, f"{late} answers that it is ready"
    finally:
        healed = sandbox("heal", "-n", stack.name).stdout
    for node in nodes:
        assert f"{fault} on {node}" in healed
    assert "broken on purpose" not in shown(stack) and not_ready(stack) == []


def test_a_crashed_server_refuses_and_a_lost_host_says_nothing(stack: LiveStack) -> None:
    addresses = {node: address_of(stack, node) for node in ("galera2", "galera3")}
    assert {connect(stack, address) for address in addresses.values()} == {"open"}
    sandbox("fault", "-n", stack.name, "--fault", "server-crash", "--target", "galera2")
    try:
        assert connect(stack, addresses["galera2"]) == "refused"
    finally:
        sandbox("heal", "-n", stack.name)
    sandbox("fault", "-n", stack.name, "--fault", "host-loss", "--target", "galera3")
    try:
        assert connect(stack, addresses["galera3"]) != "refused"
    finally:
        sandbox("heal", "-n", stack.name)


def test_what_cannot_be_broken_is_refused_and_nothing_is_changed(stack: LiveStack) -> None:
    for words, code in (
        (["--fault", "server-crsh"], 2),
        (["--fault", "server-crash", "--target", "galera9"], 2),
        (["--fault", "server-crash", "--target", "proxy"], 2),
        (["--fault", "hang", "--options", "what=x"], 2),
    ):
        done = sandbox("fault", "-n", stack.name, *words, check=False)
        assert done.returncode == code and len(done.stderr.strip().splitlines()) == 3, (words, done.stderr)
    assert not_ready(stack) == [] and "broken on purpose" not in shown(stack)


def trial_of(stack: LiveStack, *words: str) -> dict[str, Any]:
    """The record of a trial that measured, or was too late beside other tests."""
    done = sandbox("trial", "-n", stack.name, *words, "--json", check=False)
    record: dict[str, Any] = json.loads(done.stdout)
    assert record["status"] == "ok" or record["reason"].startswith(LATE), (record["reason"], done.stderr)
    return record


def test_a_trial_says_how_long_writes_were_out_and_that_nothing_is_lost(stack: LiveStack) -> None:
    record = trial_of(stack, "--fault", "server-crash")
    trial, metrics = record["trial"], record["metrics"]
    (step,) = trial["steps"]
    assert step["fault"] == "server-crash" and step["nodes"][0].startswith("galera")
    assert 0 < metrics["rto_ms"] < 60_000 and metrics["write_errors"] > 0
    assert trial["t0_ms"] == step["began_ms"] < step["healed_ms"] < trial["end_ms"]
    ledger = trial["ledger"]
    assert ledger["acked"] > 500 and ledger["lost"]["count"] == 0 and ledger["duplicate"]["count"] == 0
    assert len(ledger["rows"]) == 3, "every node was read"
    verdicts = {check["name"]: check["verdict"] for check in record["checks"]}
    assert verdicts["lost"] == verdicts["phantom"] == verdicts["duplicate"] == "pass"
    assert not_ready(stack) == []


def test_a_killed_trial_leaves_nothing_broken(stack: LiveStack) -> None:
    with subprocess.Popen(
        [SANDBOX, "trial", "-n", stack.name, "--fault", "hang", "--target", "galera2", "--seconds", "60"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr
        for line in process.stderr:
            if "hang on galera2" in line:
                break
        process.kill()
    end = time.monotonic() + 30
    while "broken on purpose" in shown(stack):
        assert time.monotonic() < end, "the guard has not healed"
    sandbox("heal", "-n", stack.name)
    assert not_ready(stack) == []

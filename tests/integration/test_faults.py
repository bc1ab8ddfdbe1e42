"""Nodes broken on purpose, on real servers: each fault shows and heals, and a trial finds what it
is there to find.
"""

import json
import subprocess
import time

import pytest

from integration.live import SANDBOX, LiveStack, live_stack, run, sandbox

pytestmark = pytest.mark.docker
PROFILE = "galera3+haproxy"


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
    """What a new connection from the client gets within two seconds: ``open``, ``refused`` or
    ``nothing``.
    """
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
        pytest.param(
            "slow-node", "all", ["galera1", "galera2", "galera3"], None, marks=pytest.mark.long
        ),
        pytest.param("unplug", "galera3", ["galera3"], "galera3", marks=pytest.mark.long),
        pytest.param("loss", "galera1", ["galera1"], None, marks=pytest.mark.long),
        pytest.param("reset", "galera3", ["galera3"], "galera3", marks=pytest.mark.long),
        pytest.param("graceful", "galera2", ["galera2"], "galera2", marks=pytest.mark.long),
        pytest.param("out-of-memory", "galera3", ["galera3"], "galera3", marks=pytest.mark.long),
        pytest.param("bandwidth", "galera1", ["galera1"], None, marks=pytest.mark.long),
    ],
)
def test_a_fault_shows_and_heals(
    stack: LiveStack, fault: str, target: str, nodes: list[str], late: str | None
) -> None:
    done = json.loads(
        sandbox("fault", "-n", stack.name, "--fault", fault, "--target", target, "--json").stdout
    )
    assert (done["fault"], done["nodes"]) == (fault, nodes)
    try:
        for node in nodes:
            assert f"broken on purpose: {fault} on {node}" in shown(stack)
        if late is not None:
            stack.wait_until(lambda: late in not_ready(stack), 20)
    finally:
        healed = sandbox("heal", "-n", stack.name).stdout
    for node in nodes:
        assert f"{fault} on {node}" in healed
    assert "broken on purpose" not in shown(stack) and not_ready(stack) == []


@pytest.mark.long
def test_a_damaged_page_shows_and_heals(stack: LiveStack) -> None:
    stack.sql(
        "galera1",
        "create table sbtest.page (id int primary key) engine=innodb; insert into sbtest.page"
        " values (7)",
    )
    stack.sql_until("galera3", "select id from sbtest.page", "7")
    words = ["--fault", "corruption", "--target", "galera3", "--options", "file=sbtest/page page=3"]
    sandbox("fault", "-n", stack.name, *words)
    try:
        assert "broken on purpose: corruption on galera3" in shown(stack)
    finally:
        sandbox("heal", "-n", stack.name)
    assert not_ready(stack) == [] and stack.sql("galera3", "select id from sbtest.page") == "7"
    stack.sql("galera1", "drop table sbtest.page")


@pytest.mark.long
def test_a_delay_shows_and_heals_where_the_kernel_can(stack: LiveStack) -> None:
    before_s = answer_s(stack, "galera1")
    done = sandbox(
        "fault",
        "-n",
        stack.name,
        "--fault",
        "delay",
        "--target",
        "galera1",
        "--options",
        "delay_ms=300",
        check=False,
    )
    if done.returncode == 3:
        assert "the engine's kernel has no netem" in done.stderr
        return
    try:
        assert done.returncode == 0 and answer_s(stack, "galera1") > before_s + 0.25, done.stderr
    finally:
        sandbox("heal", "-n", stack.name)
    assert answer_s(stack, "galera1") < before_s + 0.25


def answer_s(stack: LiveStack, node: str) -> float:
    """How long a new connection takes from the client node to get its answer, the quickest of
    three.
    """

    def once() -> float:
        began = time.monotonic()
        stack.from_client(node, "select 1")
        return time.monotonic() - began

    return min(once() for _ in range(3))


@pytest.mark.long
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
        assert done.returncode == code and len(done.stderr.strip().splitlines()) == 3, (
            words,
            done.stderr,
        )
    assert not_ready(stack) == [] and "broken on purpose" not in shown(stack)


def test_a_trial_says_how_long_writes_were_out_and_that_nothing_is_lost(stack: LiveStack) -> None:
    record = stack.trial("--fault", "server-crash")
    trial, metrics = record["trial"], record["metrics"]
    (step,) = trial["steps"]
    assert step["fault"] == "server-crash" and step["nodes"][0].startswith("galera")
    assert 0 < metrics["rto_ms"] < 60_000 and metrics["write_errors"] > 0
    assert trial["t0_ms"] == step["began_ms"] < step["healed_ms"] < trial["end_ms"]
    ledger = trial["ledger"]
    assert (
        ledger["acked"] > 500 and ledger["lost"]["count"] == 0 and ledger["duplicate"]["count"] == 0
    )
    assert len(ledger["rows"]) == 3, "every node was read"
    verdicts = {check["name"]: check["verdict"] for check in record["checks"]}
    assert verdicts["lost"] == verdicts["phantom"] == verdicts["duplicate"] == "pass"
    assert not_ready(stack) == []


@pytest.mark.long
def test_a_killed_trial_leaves_nothing_broken(stack: LiveStack) -> None:
    with subprocess.Popen(
        [
            SANDBOX,
            "trial",
            "-n",
            stack.name,
            "--fault",
            "hang",
            "--target",
            "galera2",
            "--seconds",
            "60",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        for line in process.stderr:
            if "hang on galera2" in line:
                break
        process.kill()
    stack.wait_until(lambda: "broken on purpose" not in shown(stack), 30)  # the guard heals
    sandbox("heal", "-n", stack.name)
    assert not_ready(stack) == []


@pytest.mark.long
def test_a_member_that_has_left_its_cluster_is_named_and_repaired(stack: LiveStack) -> None:
    # As after a hang that its provider gives up on.
    stack.sql("galera2", "set global wsrep_cluster_address = ''")
    named_and_repaired(stack, "galera2 is left: ", "galera2 was left: restarted")


@pytest.mark.long
def test_a_member_that_was_voted_out_is_named_and_repaired(stack: LiveStack) -> None:
    """A row that it lacks: its applier fails, and the others vote it out."""
    stack.sql("galera1", "create table sbtest.voted (id int primary key, v int)")
    stack.sql("galera1", "insert into sbtest.voted values (1, 1)")
    stack.sql_until("galera2", "select id from sbtest.voted", "1")
    stack.sql("galera2", "set session wsrep_on = off; delete from sbtest.voted")
    stack.sql("galera1", "update sbtest.voted set v = 2")
    stack.sql_until(
        "galera1",
        "select variable_value from information_schema.global_status where variable_name = "
        '"wsrep_cluster_size"',
        "2",
    )
    states = {str(node["name"]): node for node in stack.data()}
    assert (states["galera2"]["server_state"], states["galera2"]["role"]) == ("evicted", "reader")
    assert "Inconsistent by consensus" in str(states["galera2"]["reason"])
    assert (
        states["galera1"]["server_state"] == "2 of 3 members"
        and states["galera1"]["role"] == "writer"
    )
    assert states["galera1"]["view"] == ["galera1", "galera3"]
    named_and_repaired(
        stack, "galera2 is evicted: Inconsistent by consensus", "galera2 was evicted: restarted"
    )
    stack.sql("galera1", "drop table sbtest.voted")


def named_and_repaired(stack: LiveStack, named: str, repaired: str) -> None:
    """With nothing broken on purpose `heal` says at once what it is, and with --repair brings it
    back.
    """
    began = time.monotonic()
    refused = sandbox("heal", "-n", stack.name, check=False)
    assert refused.returncode == 4 and time.monotonic() - began < 30
    what, _, step = refused.stderr.splitlines()[-3:]
    assert what.startswith(named) and step.startswith(f"try: make heal NAME={stack.name} REPAIR=1")
    assert "REPAIR=1 repairs it" in shown(stack)
    assert repaired in sandbox("heal", "-n", stack.name, "--repair").stdout
    assert not_ready(stack) == []


def ahead_s(stack: LiveStack, node: str) -> float:
    """Seconds by which the clock of a server is ahead of this machine's."""
    since_1970 = "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))"
    return int(stack.sql(node, since_1970)) / 1e6 - time.time()


def wait_for_clock(stack: LiveStack, node: str, skew_s: float) -> None:
    """Until a server's clock is so far ahead, within three seconds."""
    stack.wait_until(lambda: abs(ahead_s(stack, node) - skew_s) < 1, 3)


@pytest.mark.long
@pytest.mark.parametrize("profile", ["mysql@9.7+adjustable-clock", "galera3+adjustable-clock"])
def test_a_clock_is_wrong_until_it_is_healed(profile: str) -> None:
    with live_stack(profile) as live:
        for skew_s in (60.0, -30.0):
            words = ["--fault", "clock-skew", "--target", "writer", "--options", f"skew_s={skew_s}"]
            (node,) = json.loads(sandbox("fault", "-n", live.name, *words, "--json").stdout)[
                "nodes"
            ]
            wait_for_clock(live, node, skew_s)
            for other in {*live.servers} - {node}:
                assert abs(ahead_s(live, other)) < 1, "the others have the right time"
            began = time.monotonic()
            live.sql(node, "do sleep(1)")
            assert 1 <= time.monotonic() - began < 10, "a wait lasts as long as ever"
            sandbox("heal", "-n", live.name)
            wait_for_clock(live, node, 0)
        assert not_ready(live) == []


@pytest.mark.long
def test_a_wrong_clock_stays_with_its_container() -> None:
    """A server that restarts in it still has it; a container that restarts, as a host that sets its
    clock, has not.
    """
    with live_stack("mysql@9.7+adjustable-clock") as live:
        sandbox("fault", "-n", live.name, "--fault", "clock-skew", "--target", "mysql1")
        for signal in ("USR1", "USR2"):
            run(["docker", "kill", "--signal", signal, live.container("mysql1")])
        sandbox("start", "-n", live.name)
        wait_for_clock(live, "mysql1", 60)
        sandbox("restart", "-n", live.name, "--node", "mysql1")
        wait_for_clock(live, "mysql1", 0)
        sandbox("heal", "-n", live.name)
        assert "broken on purpose" not in shown(live)


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        ("mariadb@10.5", "has the clock of its host"),
        # Its libc is older than what the library needs.
        ("mariadb@10.5+adjustable-clock", "takes no other clock"),
    ],
)
def test_a_clock_that_cannot_be_set_is_skipped(profile: str, reason: str) -> None:
    with live_stack(profile) as live:
        done = sandbox("fault", "-n", live.name, "--fault", "clock-skew", check=False)
        # On a busy machine the line of a step that takes long stands before them.
        what, known, step = done.stderr.strip().splitlines()[-3:]
        assert done.returncode == 3 and reason in f"{what} {known}" and step.startswith("try: ")
        assert not_ready(live) == []

"""Proxies and monitors in front of real servers: they route a write, follow the writer, see every
server.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.live import LiveStack, live_stack, run, sandbox

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]


@pytest.mark.parametrize(
    "profile", ["galera3@11.8+haproxy", pytest.param("gr3@9.7+haproxy", marks=pytest.mark.long)]
)
def test_haproxy_keeps_one_writer_and_follows_it(profile: str) -> None:
    with live_stack(profile) as stack:
        writer, port = stack.assert_routed("haproxy1"), stack.ports("haproxy1")["rw"]
        stack.kill(writer)
        _until_writable(stack, "haproxy1", port)
        assert stack.who_answers("haproxy1", port) != writer
        stack.start()


def _until_writable(stack: LiveStack, proxy: str, port: int) -> None:
    """Bounded: the proxy takes writes again within 60 s."""
    query = "insert into sandbox.ready (id) values (7) on duplicate key update id = 7"
    script = (
        f"for i in $(seq 300); do timeout 5 mariadb --defaults-file=/sandbox/app.cnf -h {proxy} -P"
        f" {port} -e '{query}' 2>/dev/null && exit 0; sleep 0.2; done; exit 1"
    )
    run(["docker", "exec", stack.container("client1"), "sh", "-c", script])


ROUTER = {
    "ttl": "0.2", "connect_timeout": "2", "read_timeout": "4", "error_quarantine_interval": "3",
    "error_quarantine_threshold": "5",
}  # fmt: skip


@pytest.mark.long
def test_router_has_a_writing_and_a_reading_port_and_follows_the_primary() -> None:
    with live_stack(
        "gr3@9.7+router", "--set", " ".join(f"router:{key}={ROUTER[key]}" for key in ROUTER)
    ) as stack:
        proofs = [proof for node in stack.data() for proof in node["proofs"]]
        assert {proof["setting"].partition("-")[2]: proof["answer"] for proof in proofs} == ROUTER
        router, (primary,) = stack.ports("router1"), stack.writers()
        assert {stack.who_answers("router1", router["rw"]) for _ in range(4)} == {primary}
        readers = {stack.who_answers("router1", router["ro"]) for _ in range(6)}
        assert readers and primary not in readers
        stack.kill(primary)
        _until_writable(stack, "router1", router["rw"])
        assert stack.who_answers("router1", router["rw"]) != primary
        stack.start()


@pytest.mark.long  # it starts a group of its own; another test of Router does so in every run
def test_router_shares_connections_when_asked() -> None:
    with live_stack("gr3@9.7+router+multiplexing+many-clients+rw-split") as stack:
        proofs = [proof for node in stack.data() for proof in node["proofs"]]
        assert len(proofs) >= 3 and [proof for proof in proofs if not proof["in_effect"]] == []


@pytest.mark.long
def test_prometheus_scrapes_every_server() -> None:
    with live_stack("mariadb@11.8+replica1+prometheus") as stack:
        port = next(iter(stack.ports("prometheus1").values()))
        # Any scrape so far: the snapshot in the background pauses servers, and the newest may have
        # met that.
        query = "max_over_time(mysql_up[5m])"
        ask = (
            "import urllib.request, sys; sys.stdout.write(urllib.request.urlopen("
            f"'http://prometheus1:{port}/api/v1/query?query={query}').read().decode())"
        )
        answer = json.loads(
            run(["docker", "exec", stack.container("client1"), "python3", "-c", ask]).stdout
        )
        values = [sample["value"][1] for sample in answer["data"]["result"]]
        assert values == ["1"] * len(stack.servers)


PROBE = """\
listen probe
    bind :3310
    mode tcp
    option mysql-check user probe
    server server {server}1:3306 check inter 500ms
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("server", "state"),
    [
        # haproxy #2934: mysql-check does not speak the protocol of MySQL 9.
        ("mysql@9.7", "DOWN"),
        ("mariadb@11.8", "UP"),
    ],
)
def test_a_file_of_the_users_is_checked_added_and_read_back(
    server: str, state: str, tmp_path: Path
) -> None:
    file = tmp_path / "probe.cfg"
    account = tmp_path / "probe.sql"
    account.write_text("create user probe@'%'")
    profile = f"{server}+haproxy"
    cnf = ("--cnf", f"haproxy:{file}")
    file.write_text(PROBE.format(server=server.partition("@")[0]).replace("tcp", "tcpp"))
    refused = sandbox("up", profile, "--name", "refused", *cnf, check=False)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "CNF: haproxy 3.0.11 refuses probe.cfg",
        "config : parsing [probe.cfg:3] : unknown proxy mode 'tcpp'.",
        "try: the same command after a change of probe.cfg",
    ]
    file.write_text(PROBE.format(server=server.partition("@")[0]))
    with live_stack(profile, *cnf, "--init", str(account)) as stack:
        script = (
            "exec 3<>/dev/tcp/haproxy1/8404; printf 'GET /;csv HTTP/1.0\\r\\n\\r\\n' >&3;"
            " grep '^probe,server,' <&3 | cut -d, -f18"
        )
        until = f'until [ "$({script})" = {state} ]; do sleep 0.2; done'
        client = stack.container("client1")
        run(["docker", "exec", client, "timeout", "20", "bash", "-c", until])
        nodes: list[dict[str, Any]] = stack.data()
        (proof,) = [proof for node in nodes for proof in node["proofs"]]
        assert (proof["setting"], proof["in_effect"]) == ("haproxy-CNF", True)

"""ProxySQL: who decides its hostgroups, what it is told, and when it is ready."""

import re
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from contract import stacks
from contract.test_haproxy_eligibility import checker, eligibility


def content(profile: str, config: str) -> str:
    """A file of ProxySQL's as it is in its container."""
    return str(stacks.document(profile)["configs"][f"proxysql-{config}"]["content"]).replace(
        "$$", "$"
    )


@pytest.mark.parametrize(
    ("profile", "checked", "table"),
    [
        ("mysql@9.7+replica2+proxysql", True, ""),
        ("mariadb+replica1+proxysql+rw-split", True, ""),
        ("mysql@9.7+replica2+proxysql+read-only-monitor", False, "mysql_replication_hostgroups"),
        ("galera3+proxysql", False, "mysql_galera_hostgroups"),
        ("gr3@8.4+proxysql@2.7", False, "mysql_group_replication_hostgroups"),
        ("gr3@9.7+proxysql@3.0", False, "mysql_group_replication_hostgroups"),
        ("gr3@9.7+proxysql@2.7", True, ""),
    ],
)
def test_either_the_checker_or_its_own_monitor_decides(
    profile: str, checked: bool, table: str
) -> None:
    """Both would undo each other's work; ProxySQL does what a table of hostgroups is for."""
    mounts = stacks.document(profile)["services"]["proxysql1"]["configs"]
    assert any(mount["target"] == "/sandbox/routing" for mount in mounts) == checked
    assert ("checker1" in stacks.document(profile)["services"]) == checked
    configuration = content(profile, "proxysql.cnf")
    assert re.findall(r"^mysql_\w+_hostgroups", configuration, re.M) == ([table] if table else [])
    hostgroups = set(re.findall(r"hostgroup=(\d+), weight", configuration))
    assert hostgroups == {"9999"} if checked else "9999" not in hostgroups


def test_each_proxy_listens_to_its_own_checker() -> None:
    configs = stacks.document("mysql@9.7+replica2+haproxy+proxysql2")["configs"]
    routing = [str(each["content"]) for name, each in configs.items() if name.endswith("routing")]
    assert sorted(re.findall(r"^checker=(\w+)", "\n".join(routing), re.M)) == [
        "checker2",
        "checker3",
    ]
    assert "checker1:9200" in str(configs["haproxy-haproxy.cfg"]["content"])


def hostgroups(*roles: str, profile: str = "mysql@9.7+replica2+proxysql") -> dict[str, set[str]]:
    """Who is in which hostgroup after the last of the roles that the checker has told one after the
    other.
    """
    functions = content(profile, "routing").rpartition("\nwhile ")[0]
    calls = "".join(f"elect '{each}'; told=$(statements '{each}')\n" for each in roles)
    script = f'{functions}\ntold=\n{calls}echo "$told"'
    told = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True).stdout
    assert told.startswith("DELETE FROM mysql_servers; INSERT") and told.endswith(
        "LOAD MYSQL SERVERS TO RUNTIME\n"
    )
    found: dict[str, set[str]] = {}
    for hostgroup, server in re.findall(r"\((\d+),'(\w+)',3306,\d+\)", told):
        found.setdefault(hostgroup, set()).add(server)
    return found


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (
            "mysql1=writer replica1=reader replica2=reader",
            {"10": {"mysql1"}, "20": {"replica1", "replica2"}},
        ),
        (
            "mysql1=none replica1=writer replica2=reader",
            {"10": {"replica1"}, "20": {"replica2"}, "9999": {"mysql1"}},
        ),
        (
            "mysql1=none replica1=none replica2=writer",
            {"10": {"replica2"}, "20": {"replica2"}, "9999": {"mysql1", "replica1"}},
        ),
        (
            "mysql1=none replica1=none replica2=reader",
            {"20": {"replica2"}, "9999": {"mysql1", "replica1"}},
        ),
        ("mysql1=none replica1=none replica2=none", {"9999": {"mysql1", "replica1", "replica2"}}),
    ],
)
def test_every_server_has_its_hostgroup(roles: str, expected: Mapping[str, set[str]]) -> None:
    assert hostgroups(roles) == expected


def test_the_writer_reads_where_the_setting_says_so() -> None:
    found = hostgroups(
        "mysql1=writer replica1=reader", profile="mysql@9.7+replica2+proxysql+rw-split-all"
    )
    assert found == {"10": {"mysql1"}, "20": {"mysql1", "replica1"}}


def test_of_several_members_that_take_writes_one_stays_the_writer() -> None:
    profile = "gr3@9.7+proxysql@2.7+multi-primary"
    all_write = "gr1=both gr2=both gr3=both"
    assert hostgroups(all_write, profile=profile) == {"10": {"gr1"}, "20": {"gr2", "gr3"}}
    back = hostgroups(all_write, "gr1=none gr2=both gr3=both", all_write, profile=profile)
    assert back == {"10": {"gr2"}, "20": {"gr1", "gr3"}}


class Told:
    """A server that the checker asks, with the verdict that a test gives it."""

    topology = "single"
    asked = True

    def __init__(self, verdict: object) -> None:
        self.verdict = verdict


@pytest.fixture
def followed() -> Iterator[tuple[dict[str, Told], socket.socket]]:
    """Two servers, and a connection that follows what the checker says of them."""
    servers = {
        "mysql1": Told(eligibility.judge_single("OFF", [])),
        "replica1": Told(eligibility.unknown("no answer")),
    }
    handler = type("Handler", (checker.Handler,), {"group": checker.Group(servers)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
            connection.sendall(b"GET /follow HTTP/1.0\r\n\r\n")
            yield servers, connection
        server.shutdown()


def test_the_checker_tells_every_change_at_once_and_that_it_lives(
    followed: tuple[dict[str, Told], socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, connection = followed
    lines = (line.strip() for line in connection.makefile("r") if "=" in line)
    assert next(lines) == "mysql1=writer replica1=none"
    assert next(lines) == "mysql1=writer replica1=none"
    monkeypatch.setattr(checker, "BEAT_S", 600.0)
    servers["mysql1"].verdict = eligibility.unknown("no answer")
    servers["replica1"].verdict = eligibility.judge_single("OFF", [])
    assert next(line for line in lines if not line.startswith("mysql1=writer")) in (
        "mysql1=none replica1=none",
        "mysql1=none replica1=writer",
    )


ANSWERS = "10\tgalera1\tONLINE\n11\tgalera2\tONLINE\n11\tgalera3\tONLINE\n20\tgalera2\tONLINE\n"


@pytest.mark.parametrize(
    ("hostgroups_now", "rule", "write", "read", "expected"),
    [
        (ANSWERS + "20\tgalera3\tONLINE\n", "20", "galera1", "galera3", "routed"),
        (
            ANSWERS + "9999\tgalera3\tONLINE\n",
            "20",
            "galera1",
            "galera2",
            "galera3 is not in its hostgroup yet:",
        ),
        (
            ANSWERS + "20\tgalera3\tSHUNNED\n",
            "20",
            "galera1",
            "galera2",
            "galera3 is not in its hostgroup yet:",
        ),
        (
            ANSWERS + "20\tgalera3\tONLINE\n",
            "10",
            "galera1",
            "galera1",
            "reads are sent to hostgroup 10",
        ),
        (
            ANSWERS + "20\tgalera3\tONLINE\n",
            "20",
            "galera1",
            "galera1",
            "a read went to galera1, not to one of",
        ),
        (
            ANSWERS + "20\tgalera3\tONLINE\n",
            "20",
            "galera2",
            "galera3",
            "a write went to galera2, not to galera1",
        ),
        (
            "10\tgalera1\tONLINE\n10\tgalera2\tONLINE\n",
            "20",
            "",
            "",
            "two writers: galera1 and galera2",
        ),
        ("20\tgalera1\tONLINE\n", "20", "", "", "no server is in the writer hostgroup"),
    ],
)
def test_it_is_ready_when_everything_is_seen_to_go_where_it_belongs(
    tmp_path: Path, hostgroups_now: str, rule: str, write: str, read: str, expected: str
) -> None:
    (tmp_path / "hostgroups").write_text(hostgroups_now)
    (tmp_path / "ask").write_text(
        f'case $1 in *query_rules*) echo {rule} ;; *) cat "{tmp_path}/hostgroups" ;; esac\n'
    )
    (tmp_path / "mariadb").write_text(
        f'#!/bin/sh\nfor last; do :; done\ncase $last in *INSERT*) echo "{write}" ;; *) echo'
        f' "{read}" ;; esac\n'
    )
    (tmp_path / "mariadb").chmod(0o755)
    script = content("galera3+proxysql@2.7+rw-split", "ready").replace(
        "/sandbox/ask", f"{tmp_path}/ask"
    )
    done = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.stdout.strip().startswith(expected) and done.stderr == ""
    assert (done.returncode == 0) == (expected == "routed")


def test_a_shunned_reader_is_asked_once_so_that_it_comes_back(tmp_path: Path) -> None:
    """ProxySQL takes it back for a session that wants a reader alone, and none does without a
    split.
    """
    status = tmp_path / "status"
    status.write_text("SHUNNED")
    (tmp_path / "ask").write_text(f'printf "{ANSWERS}20\tgalera3\t$(cat "{status}")\n"\n')
    (tmp_path / "mariadb").write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        f'case $last in *hostgroup=20*) printf ONLINE >"{status}" ;; esac\necho galera1\n'
    )
    (tmp_path / "mariadb").chmod(0o755)
    script = content("galera3+proxysql@2.7", "ready").replace("/sandbox/ask", f"{tmp_path}/ask")
    done = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("routed", "", 0)


@pytest.mark.parametrize("policy", ["rw-split", "rw-split-all"])
def test_a_proxy_that_parses_nothing_cannot_split(policy: str) -> None:
    refused = stacks.refusal(f"galera3+proxysql+fast-forward+{policy}")
    assert refused and refused.what == f"'fast-forward' and '{policy}' cannot be in the same group"
    assert stacks.refusal(f"galera3+proxysql+{policy}+fast-forward")


def test_it_repeats_no_query_unless_asked_to() -> None:
    assert "query_retries_on_failure=0" in content("galera3+proxysql", "proxysql.cnf")
    assert "query_retries_on_failure=1" in content("galera3+proxysql+query-retries", "proxysql.cnf")

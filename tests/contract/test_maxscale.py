"""MaxScale: the servers that it works behind, what its configuration says to which version, and its
wrapper.
"""

import os
import subprocess
from pathlib import Path

import pytest

from contract import stacks
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import effective_variables
from sandbox.report.plan import role_hint

PLUGIN = "default_authentication_plugin"
ENTRYPOINT = stacks.CHECKOUT / "compose" / "maxscale" / "entrypoint.sh"


def configuration(profile: str) -> list[str]:
    """Lines of MaxScale's configuration in a stack."""
    configs = stacks.document(profile)["configs"]
    (text,) = (entry["content"] for name, entry in configs.items() if name.endswith("maxscale.cnf"))
    return str(text).splitlines()


def variables_of(profile: str, node: str) -> dict[str, str | None]:
    """Variables of a server in a stack."""
    plan = stacks.plan(profile)
    return effective_variables(plan.node(node), node_context(plan, plan.node(node), PLACEHOLDER))


@pytest.mark.parametrize(
    "profile", ["mysql@8.0+replica1+maxscale", "ps@8.0+maxscale", "pxc3@8.0+maxscale"]
)
def test_accounts_of_mysql_8_have_the_plugin_that_it_speaks(profile: str) -> None:
    for node in stacks.plan(profile).databases:
        assert variables_of(profile, node.name)[PLUGIN] == "mysql_native_password"


def test_servers_that_have_the_plugin_as_their_default_or_no_maxscale_are_left_alone() -> None:
    assert PLUGIN not in variables_of("mysql@5.6+maxscale", "mysql1")
    assert PLUGIN not in variables_of("mariadb+maxscale", "mariadb1")
    assert PLUGIN not in variables_of("mysql@8.0+proxysql", "mysql1")
    assert PLUGIN not in variables_of("mysql@8.0+maxscale+mysql@8.0", "mysql2")


@pytest.mark.parametrize(
    ("profile", "server"),
    [
        ("mysql@9.7+maxscale", "mysql@9.7"),
        ("mysql@8.1+maxscale", "mysql@8.1"),
        ("ps@8.4+maxscale", "ps@8.4"),
        ("pxc3@8.4+maxscale", "pxc@8.4"),
        ("mysql@8.0+maxscale+replica@8.4", "replica@8.4"),
    ],
)
def test_newer_servers_are_refused_with_one_that_works(profile: str, server: str) -> None:
    refused = stacks.refusal(profile)
    assert refused is not None
    assert refused.what == f"'maxscale' cannot be attached to '{server}'"
    assert "mysql_native_password" in refused.known
    assert stacks.refusal(refused.next_step.rpartition("PROFILE=")[2]) is None


def test_the_plan_says_where_its_monitor_does_not_fail_over() -> None:
    def role(profile: str) -> str:
        plan = stacks.plan(profile)
        return role_hint(plan, plan.node("maxscale1"))

    assert (
        role("mysql@8.0+replica1+maxscale")
        == "proxy in front of mysql1, replica1; no failover by its monitor"
    )
    assert role("mariadb+replica1+maxscale") == "proxy in front of mariadb1, replica1"
    assert role("pxc3@8.0+maxscale") == "proxy in front of pxc1, pxc2, pxc3"


def test_its_monitor_promotes_servers_of_mariadb_alone() -> None:
    assert {"module=mariadbmon", "auto_failover=true", "auto_rejoin=true"} <= set(
        configuration("mariadb+maxscale")
    )
    mysql = configuration("mysql@8.0+replica1+maxscale")
    assert "module=mariadbmon" in mysql
    assert not [
        line
        for line in mysql
        if line.startswith(("auto_", "failcount", "enforce_", "replication_"))
    ]
    assert "module=galeramon" in configuration("pxc3@8.0+maxscale")


def test_pooled_connections_that_serve_nobody_are_closed_soon() -> None:
    shared = configuration("mariadb+replica1+maxscale+multiplexing")
    assert shared.count("persistmaxtime=1s") == shared.count("persistpoolmax=50") == 2
    assert not [line for line in configuration("mariadb+maxscale") if line.startswith("persist")]


def test_a_silent_source_counts_as_dead_soon_but_after_more_than_a_heartbeat() -> None:
    lines = configuration("mariadb+replica1+maxscale")
    assert {"backend_read_timeout=2s", "failcount=2", "master_failure_timeout=3s"} <= set(lines)
    heartbeat_s = (
        int(variables_of("mariadb+replica1+maxscale", "replica1")["slave_net_timeout"] or 0) / 2
    )
    assert heartbeat_s < 3


def test_an_option_is_given_to_the_versions_that_have_it() -> None:
    option = "replication_custom_options=MASTER_CONNECT_RETRY=1"
    assert option in configuration("mariadb+maxscale@24.02")
    assert option in configuration("mariadb+maxscale@23.08.2")
    assert option not in configuration("mariadb+maxscale@23.08.1")


def run_wrapper(
    folder: Path, resolves_after: int, patience_s: int = 30
) -> subprocess.CompletedProcess[str]:
    """The wrapper with stubs of what it calls; each name resolves at the given look-up."""
    looked = folder / "looked"
    stubs = {
        "getent": f'echo "$2" >> {looked}\n[ "$(grep -cx "$2" {looked})" -ge {resolves_after} ]',
        "install": "",
        "rm": "",
        "maxscale": 'echo "started: $*"',
        "sleep": "",
    }
    for name, body in stubs.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / "maxscale.cnf").write_text(
        "[a]\naddress=mariadb1\n[b]\naddress=replica1\n", encoding="utf-8"
    )
    script = ENTRYPOINT.read_text(encoding="utf-8").replace(
        "/sandbox/maxscale.cnf", str(folder / "maxscale.cnf")
    )
    script = script.replace("SECONDS + 30", f"SECONDS + {patience_s}")
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=environment, check=False
    )


def test_the_wrapper_waits_for_the_names_of_all_servers(tmp_path: Path) -> None:
    ran = run_wrapper(tmp_path, resolves_after=3)
    assert ran.stdout.startswith("started: --nodaemon")
    assert ran.stderr == ""
    assert (tmp_path / "looked").read_text(encoding="utf-8").split() == ["mariadb1"] * 3 + [
        "replica1"
    ] * 3


def test_the_wrapper_starts_without_a_name_in_the_end_and_says_which(tmp_path: Path) -> None:
    ran = run_wrapper(tmp_path, resolves_after=1_000_000, patience_s=1)
    assert ran.stdout.startswith("started: --nodaemon")
    assert [line.split()[1] for line in ran.stderr.splitlines()] == ["mariadb1", "replica1"]

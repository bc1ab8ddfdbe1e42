"""The life of a stack as a user lives it: up twice, side by side, by hand, interrupted, killed,
gone.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from pytest_docker.plugin import get_docker_services

from integration.live import SANDBOX, LiveStack, leftovers, live_stack, printed_file, run, sandbox

pytestmark = pytest.mark.docker
PROFILE = "mariadb@11.8+replica1"
PLAIN = ["--profile", PROFILE, "--snapshots", "0"]


def test_up_again_changes_nothing(stack: LiveStack) -> None:
    before = [node["container"] for node in stack.data()]
    sandbox("up", "--name", stack.name, "--profile", PROFILE)
    assert [node["container"] for node in stack.data()] == before


def test_another_profile_under_the_same_name_is_refused_in_three_lines(stack: LiveStack) -> None:
    done = sandbox("up", "--name", stack.name, "--profile", "mariadb@11.8", check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 3
    assert PROFILE in done.stderr


def test_statements_commands_and_logs_by_hand(stack: LiveStack) -> None:
    every = sandbox("sql", "-n", stack.name, "--all", "-e", "select @@hostname").stdout
    assert every.splitlines() == [
        "-- mariadb1",
        "@@hostname",
        "mariadb1",
        "-- replica1",
        "@@hostname",
        "replica1",
    ]
    assert sandbox("sql", "-n", stack.name, "--all", "-e", "no such", check=False).returncode == 1
    assert sandbox("exec", "replica1", "-n", stack.name, "--", "hostname").stdout == "replica1\n"
    assert sandbox("exec", "replica1", "-n", stack.name, "--", "false", check=False).returncode == 1
    assert (
        len(
            sandbox(
                "logs", "-n", stack.name, "--node", "replica1", "--tail", "3"
            ).stdout.splitlines()
        )
        == 3
    )


def test_nothing_is_published_until_asked_and_then_only_on_loopback(stack: LiveStack) -> None:
    assert not [node for node in stack.data() if node["published"]]
    before = {node["name"]: node["container"] for node in stack.data()}
    sandbox("up", "--name", stack.name, "--profile", PROFILE, "--publish")
    after = {node["name"]: node["container"] for node in stack.data()}
    assert {name: after[name] for name in before} == before, "a node was recreated"
    published = [address for node in stack.data() for address in node["published"]]
    assert published and all(address["host"] == "127.0.0.1" for address in published)
    bound = run(
        [
            "docker",
            "ps",
            "--filter",
            f"label=sandbox.checkout={os.fspath(Path(__file__).parents[2])}",
            "--format",
            "{{.Ports}}",
        ]
    ).stdout
    assert "0.0.0.0" not in bound


def test_no_password_in_what_the_engine_or_the_process_list_shows(stack: LiveStack) -> None:
    root = run(
        ["docker", "exec", stack.container(stack.servers[0]), "cat", "/sandbox/root-password"]
    ).stdout.strip()
    app = run(
        [
            "docker",
            "exec",
            stack.container("client1"),
            "sed",
            "-n",
            "s/^password *= *//p",
            "/sandbox/app.cnf",
        ]
    ).stdout.strip()
    assert len(root) >= 20 and len(app) >= 20
    for node in stack.data():
        container = str(node["container"])
        shown = (
            run(["docker", "inspect", container]).stdout + run(["docker", "logs", container]).stderr
        )
        # Not by `docker top`: that takes a ps, which a host may lack.
        listed = r"tail -n +1 /proc/[0-9]*/cmdline | tr '\0' ' '"
        processes = run(["docker", "exec", container, "sh", "-c", listed]).stdout
        assert "/proc/1/cmdline" in processes
        shown += run(["docker", "logs", container]).stdout + processes
        assert root not in shown and app not in shown, f"{node['name']} shows a password"


def test_every_volume_and_network_is_labelled(stack: LiveStack) -> None:
    for node in stack.data():
        mounts = json.loads(
            run(
                ["docker", "inspect", "--format", "{{json .Mounts}}", str(node["container"])]
            ).stdout
        )
        for mount in mounts:
            if mount["Type"] == "volume":
                labels = json.loads(
                    run(
                        [
                            "docker",
                            "volume",
                            "inspect",
                            "--format",
                            "{{json .Labels}}",
                            mount["Name"],
                        ]
                    ).stdout
                )
                assert labels and "sandbox.stack" in labels, (
                    f"{node['name']} has an unlabelled volume at {mount['Destination']}"
                )


def test_sql_reads_its_statements_from_a_pipe(stack: LiveStack) -> None:
    done = sandbox("sql", "--name", stack.name, "--node", "replica1", stdin="select @@hostname;")
    assert "replica1" in done.stdout


def test_restart_stop_and_start_keep_the_data(stack: LiveStack) -> None:
    stack.sql(stack.writers()[0], "create table sbtest.kept as select 42 as answer")
    sandbox("restart", "--name", stack.name, "--node", stack.servers[0])
    sandbox("stop", "--name", stack.name)
    assert all(node["state"] != "running" for node in stack.data())
    stack.start()
    for node in stack.servers:
        stack.sql_until(node, "select answer from sbtest.kept", "42")


def test_logs_of_one_node_are_its_own(stack: LiveStack) -> None:
    assert sandbox("logs", "--name", stack.name, "--node", "replica1").stdout.strip()


def test_two_stacks_live_side_by_side(stack: LiveStack) -> None:
    with live_stack("mariadb@11.8") as other:
        assert (
            other.sql("mariadb1", "select @@hostname")
            == stack.sql("mariadb1", "select @@hostname")
            == "mariadb1"
        )
        assert other.container("mariadb1") != stack.container("mariadb1")
    assert stack.sql("mariadb1", "select 1") == "1"


def test_the_compose_file_is_the_stack(tmp_path: Path) -> None:
    """`docker compose up --wait` on the printed file alone, under another project's name
    (docs/design.md, rule 1).
    """
    file = printed_file(tmp_path, "galera3@11.8")
    project = f"byhand-{os.getpid()}"
    with get_docker_services("docker compose", [str(file)], project, ["up -d"], ["down -v"]):
        live = LiveStack(project, "galera3@11.8")
        live.start()
        assert (
            live.sql(
                "galera2",
                "select variable_value from information_schema.global_status where"
                " variable_name='wsrep_cluster_size'",
            )
            == "3"
        )
    assert not leftovers(f"sandbox.stack={project}")


def _project(name: str) -> str:
    from sandbox.stack.naming import project_name

    return project_name(name)


def moments(short: Sequence[float], long: Sequence[float]) -> pytest.MarkDecorator:
    """Seconds into a start: some in every run, the others in the long one."""
    further = [pytest.param(each, marks=pytest.mark.long) for each in long]
    return pytest.mark.parametrize("delay_s", [*short, *further])


@moments(short=[1.6], long=[0.3, 0.9, 3.0])
def test_a_killed_runner_leaves_nothing_that_down_does_not_remove(delay_s: float) -> None:
    name = f"t-kill-{int(delay_s * 10)}"
    runner = subprocess.Popen([SANDBOX, "up", "--name", name, *PLAIN], stderr=subprocess.DEVNULL)
    time.sleep(delay_s)  # a moment of the start, whichever it is
    runner.kill()
    runner.wait()
    sandbox("down", "--name", name)
    assert not leftovers(f"sandbox.stack={_project(name)}")


@pytest.mark.parametrize("start", [[], ["--cold"]], ids=["restored", "cold"])
@moments(short=[1.0], long=[0.0, 0.2, 0.5, 2.0])
def test_ctrl_c_during_up_leaves_nothing(start: list[str], delay_s: float) -> None:
    name = f"t-int-{int(delay_s * 10)}"
    code, stderr = interrupted_up(name, start, delay_s)
    assert code == 130, stderr
    # Nothing that it started itself still holds the lock.
    assert "working on the stack" not in stderr
    assert not leftovers(f"sandbox.stack={_project(name)}"), stderr


def interrupted_up(name: str, start: list[str], delay_s: float) -> tuple[int, str]:
    """Exit code and messages of an `up` that Ctrl-C ends after a delay, or after half of it where
    it was up by then.
    """
    runner = subprocess.Popen(
        [SANDBOX, "up", "--name", name, *PLAIN, *start],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert runner.stderr is not None
    first = runner.stderr.readline()
    time.sleep(delay_s)  # a moment of the start, whichever it is
    # It had ended by itself; one that Ctrl-C does not end is no such case.
    if runner.poll() is not None:
        runner.communicate()
        sandbox("down", "--name", name)
        return interrupted_up(name, start, delay_s / 2)
    os.killpg(runner.pid, signal.SIGINT)
    _, rest = runner.communicate(timeout=60)
    return runner.returncode, first + rest


def test_an_image_that_cannot_be_had_is_reported_before_anything_starts() -> None:
    done = sandbox("up", "--name", "t-pxc", "--profile", "pxc3+proxysql", check=False)
    if done.returncode == 0:
        sandbox("down", "--name", "t-pxc")
        pytest.skip("here the published images can be had")
    assert done.returncode == 4
    assert "percona" in done.stderr and "galera" in done.stderr
    assert not leftovers(f"sandbox.stack={_project('t-pxc')}")


def test_a_mistyped_term_starts_nothing() -> None:
    done = sandbox("up", "--name", "t-typo", "--profile", "pxc3+proxsql", check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 3 and "proxysql" in done.stderr
    assert not leftovers(f"sandbox.stack={_project('t-typo')}")

"""The bootstrap script in a checkout of its own, where Python, pip and Docker are recorders on
PATH.
"""

import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from unit.bare_machine import PYTHON, ROOT, SERVICE, Machine, bare_machine, executable, launched


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Fit, and not made ready yet."""
    return bare_machine(tmp_path)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, "what the test waits for did not happen"
        time.sleep(0.01)


def pips(machine: Machine) -> int:
    """How many times pip ran."""
    return sum(call.startswith("pip") for call in machine.calls())


def assert_refused(done: subprocess.CompletedProcess[str], what: str, exit_code: int = 4) -> None:
    lines = [line for line in done.stderr.splitlines() if not line.startswith("bootstrap: making")]
    assert (done.returncode, len(lines), done.stdout) == (exit_code, 3, ""), done.stderr
    assert what in lines[0]
    assert lines[2].startswith("Next: ")


def test_a_ready_machine_costs_no_call(machine: Machine) -> None:
    first = machine.run()
    assert (first.returncode, first.stdout) == (0, "")
    before = machine.calls()
    assert pips(machine) == 1
    second = machine.run()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert machine.calls() == before


def test_a_second_run_costs_less_than_300_ms(machine: Machine) -> None:
    """On an idle machine, where a shell counts to 10,000 in 25 ms; a busy one is slow at both."""
    shutil.copy(ROOT / "scripts" / "requirements.lock", machine.checkout / "scripts")
    machine.run()
    seconds, counted_s = [], []
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run(["bash", "-c", "for ((i = 0; i < 10000; i++)); do :; done"], check=True)
        counted_s.append(time.monotonic() - begun)
        begun = time.monotonic()
        assert machine.run().returncode == 0
        seconds.append(time.monotonic() - begun)
    assert min(seconds) < 12 * min(counted_s)


def test_packages_are_hash_locked_and_never_built(machine: Machine) -> None:
    machine.run("python")
    (pip,) = (call for call in machine.calls() if call.startswith("pip"))
    for word in (
        "--require-hashes",
        "--only-binary :all:",
        "--no-deps",
        "--requirement scripts/requirements.lock",
    ):
        assert word in pip
    assert not [call for call in machine.calls() if call.startswith("docker")]


def test_what_tests_need_comes_with_the_first_of_them_and_once(machine: Machine) -> None:
    machine.run("python")
    assert pips(machine) == 1
    machine.run("tests")
    assert "--requirement scripts/development.lock" in machine.calls()[-1] and pips(machine) == 2
    machine.run("tests")
    machine.run("python")
    assert pips(machine) == 2
    (machine.checkout / "scripts" / "development.lock").write_text("ruff==2 --hash=sha256:1\n")
    machine.run("tests")
    assert pips(machine) == 3


def test_the_command_line_is_there(machine: Machine) -> None:
    machine.run()
    assert (
        machine.checkout / ".venv/packages/sandbox.pth"
    ).read_text() == f"{machine.checkout}/scripts\n"
    script = (machine.checkout / ".venv/bin/sandbox").read_text()
    assert script.endswith('/.venv/bin/python -I -m sandbox.cli "$@"\n')


def another_lock(checkout: Path) -> None:
    (checkout / "scripts" / "requirements.lock").write_text("typer==2 --hash=sha256:1\n")


def another_python(checkout: Path) -> None:
    (checkout / ".venv" / "bin" / "python").unlink()


def another_way(checkout: Path) -> None:
    script = checkout / "scripts" / "bootstrap"
    script.write_text(script.read_text().replace("--no-compile ", ""))


@pytest.mark.parametrize("change", [another_lock, another_python, another_way])
def test_what_was_made_otherwise_is_made_again(
    machine: Machine, change: Callable[[Path], None]
) -> None:
    machine.run()
    change(machine.checkout)
    assert machine.run().returncode == 0
    assert pips(machine) == 2


def test_a_moved_checkout_is_made_again(machine: Machine) -> None:
    machine.run()
    moved = machine.checkout.rename(machine.folder / "moved")
    subprocess.run(
        [moved / "scripts" / "bootstrap"], env=machine.environment, check=True, capture_output=True
    )
    assert pips(machine) == 2


def test_failing_pip_is_three_lines_and_not_taken_for_done(machine: Machine) -> None:
    (machine.state / "broken").touch()
    assert_refused(machine.run(), "no index within reach")
    (machine.state / "broken").unlink()
    assert machine.run().returncode == 0
    assert pips(machine) == 2


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_not_taken_for_done(machine: Machine, kill: signal.Signals) -> None:
    (machine.state / "hold").touch()
    process = machine.start()
    wait_until(lambda: pips(machine) == 1)
    os.killpg(process.pid, kill)
    process.communicate(timeout=20)
    (machine.state / "hold").unlink()
    assert not (machine.checkout / ".venv" / "made-from").exists()
    assert machine.run().returncode == 0
    assert pips(machine) == 2


@pytest.mark.parametrize("locker", [tool for tool in ("flock", "perl") if shutil.which(tool)])
def test_a_second_caller_waits_and_says_so(machine: Machine, locker: str) -> None:
    machine.without(*({"flock", "perl"} - {locker}))
    (machine.state / "hold").touch()
    first = machine.start()
    wait_until(lambda: pips(machine) == 1)
    second = machine.start()
    assert second.stderr is not None
    assert (
        second.stderr.readline()
        == "bootstrap: another one is running in this checkout; waiting for it\n"
    )
    (machine.state / "hold").unlink()
    first.communicate(timeout=20)
    second.communicate(timeout=20)
    assert (first.returncode, second.returncode, pips(machine)) == (0, 0, 1)


def test_the_pip_of_a_killed_run_is_waited_for(machine: Machine) -> None:
    (machine.state / "hold").touch()
    first = machine.start()
    wait_until(lambda: pips(machine) == 1)
    first.kill()
    first.wait()
    second = machine.start()
    assert second.stderr is not None
    assert "waiting for it" in second.stderr.readline()
    (machine.state / "hold").unlink()
    second.communicate(timeout=20)
    first.communicate(timeout=20)
    assert (second.returncode, pips(machine)) == (0, 2)


VERSIONS = [
    ("20.10", "20.10", True),
    ("20.10.24+dfsg1", "20.10", True),
    ("19.03.15", "20.10", False),
    ("2.23.1", "2.23.1", True),
    ("v2.23.0", "2.23.1", False),
    ("2.24", "2.23.1", True),
    ("5:28.1.0-1", "20.10", True),
    ("1.29.2", "2.23.1", False),
    ("2.08.9", "2.23.1", False),
    ("", "2.23.1", False),
]


@pytest.mark.parametrize(("version", "floor", "enough"), VERSIONS)
def test_floors_compare_numbers(machine: Machine, version: str, floor: str, enough: bool) -> None:
    assert (machine.shell(f"at_least '{version}' {floor}").returncode == 0) is enough


@pytest.mark.parametrize("engine", ["19.03.15", "20.09"])
def test_an_old_engine_is_refused(machine: Machine, engine: str) -> None:
    machine.say("engine", f"{engine}\n")
    assert_refused(machine.run(), f"Docker Engine {engine} is too old")


def test_an_engine_that_also_warns_is_understood(machine: Machine) -> None:
    machine.say("engine", "WARNING: Error loading config file: denied\n20.10.24+dfsg1\n")
    assert machine.run().returncode == 0


@pytest.mark.parametrize("system", ["debian 11", "ubuntu 22.04", "debian 10"])
def test_an_old_system_is_refused(machine: Machine, system: str) -> None:
    assert_refused(
        machine.shell(f"system_identity() {{ echo {system}; }}; main"),
        f"This is {system}, which is too old",
    )


@pytest.mark.parametrize(
    "system", ["debian 12", "debian 13", "debian", "ubuntu 24.04", "fedora 30", "Darwin"]
)
def test_other_systems_are_not(machine: Machine, system: str) -> None:
    assert machine.shell(f"system_identity() {{ echo {system}; }}; main").returncode == 0


def elsewhere(machine: Machine) -> subprocess.CompletedProcess[str]:
    """A run on a system where nothing is ever installed."""
    return machine.shell("system_identity() { echo fedora 42; }; main")


def test_missing_python_is_three_lines(machine: Machine) -> None:
    machine.command("python3", "#!/bin/sh\nexit 1\n")
    assert_refused(elsewhere(machine), "There is no Python 3.11 or newer")


def test_a_newer_python_beside_an_old_one_is_found(machine: Machine) -> None:
    machine.command("python3", "#!/bin/sh\nexit 1\n")
    machine.command("python3.13", PYTHON)
    assert elsewhere(machine).returncode == 0


def test_missing_docker_is_three_lines(machine: Machine) -> None:
    machine.without("docker")
    assert_refused(elsewhere(machine), "Docker is not installed")


@pytest.fixture
def root_without_docker(machine: Machine) -> Machine:
    """A Debian machine without Docker, whose user may install packages."""
    machine.without("docker", "id")
    machine.command("id", "#!/bin/sh\necho 0\n")
    machine.command("apt-get", SERVICE)
    script = machine.checkout / "scripts" / "bootstrap"
    main = 'if [ "${BASH_SOURCE[0]}"'
    text = script.read_text()
    assert text.count(main) == 1
    script.write_text(text.replace(main, f"system_identity() {{ echo debian 13; }}\n{main}"))
    return machine


@pytest.mark.parametrize(
    "command", ["query", "compare", "history", "export", "report", "list", "help"]
)
def test_a_look_at_results_installs_no_docker(root_without_docker: Machine, command: str) -> None:
    done = launched(root_without_docker, command)
    assert done.returncode == 0, done.stderr
    pip, runner = root_without_docker.calls()
    assert pip.startswith("pip ") and runner == f"runner {command}"


def test_a_command_that_needs_docker_installs_it(root_without_docker: Machine) -> None:
    done = launched(root_without_docker, "up")
    assert done.returncode == 4 and "Docker is not installed" in done.stderr, (
        "apt-get is a recorder"
    )
    calls = root_without_docker.calls()
    assert any(re.fullmatch("apt-get .* install docker.io ca-certificates", call) for call in calls)
    assert "runner up" not in calls


@pytest.mark.parametrize("compose", ["", "2.23.0\n", "1.29.2\n"])
def test_missing_or_old_compose_is_three_lines(machine: Machine, compose: str) -> None:
    machine.say("compose", compose)
    assert_refused(elsewhere(machine), f"missing or too old: {compose.strip()}")


def test_a_user_outside_the_docker_group_is_reported(machine: Machine) -> None:
    machine.say(
        "refusal", "permission denied while trying to connect to the Docker daemon socket\n"
    )
    done = elsewhere(machine)
    assert_refused(done, "refuses this user")
    assert "usermod -aG docker" in done.stderr


def test_a_stopped_daemon_elsewhere_is_three_lines(machine: Machine) -> None:
    machine.say("refusal", "Cannot connect to the Docker daemon. Is the docker daemon running?\n")
    assert_refused(elsewhere(machine), "The Docker daemon does not answer: Cannot connect")


def test_a_stopped_daemon_of_ours_is_started(machine: Machine) -> None:
    for name in ("systemctl", "service", "dockerd"):
        machine.command(name, SERVICE)
    machine.say("refusal", "Cannot connect to the Docker daemon. Is the docker daemon running?\n")
    done = machine.shell("is_ours_to_start() { :; }; main")
    assert done.returncode == 0, done.stderr
    assert "starting the Docker daemon" in done.stderr


def test_what_may_leave_a_daemon_behind_does_not_keep_the_lock(machine: Machine) -> None:
    machine.command(
        "dockerd",
        '#!/bin/sh\nrm -f "$STATE/refusal"; touch "$STATE/up"; while [ -e "$STATE/up" ]; do sleep'
        " 0.05; done\n",
    )
    machine.say("refusal", "Cannot connect to the Docker daemon. Is the docker daemon running?\n")
    done = machine.shell(
        "is_ours_to_start() { :; }; start_daemon() { run_daemon; }; daemon_log=$STATE/log; main"
    )
    try:
        assert done.returncode == 0, done.stderr
        assert machine.shell("exec 9>.bootstrap.lock; kernel_lock try").returncode == 0
    finally:
        (machine.state / "up").unlink()


def test_another_client_or_user_is_checked_again(machine: Machine) -> None:
    machine.run()
    before = len(machine.calls())
    machine.say("engine", "19.03\n")
    (machine.folder / "bin" / "docker").touch()
    os.utime(machine.folder / "bin" / "docker", (time.time() + 5, time.time() + 5))
    assert_refused(machine.run(), "too old")
    assert len(machine.calls()) > before


BROAD = [
    "[Match]\nType=ether\n[Network]\nDHCP=yes\n",
    "[Match]\nName=*\n",
    "[Match]\nName=!lo\n[Network]\n",
]
NARROW = [
    "[Match]\nName=en*\n[Network]\nDHCP=yes\n",
    "# any\n[Match]\nType=ether\nMACAddress=00:11:22:33:44:55\n",
    "[Match]\nKind=bridge\n",
    "[Network]\nDHCP=yes\n",
]


@pytest.mark.parametrize(
    ("text", "broad"), [*((text, True) for text in BROAD), *((text, False) for text in NARROW)]
)
def test_a_network_file_that_takes_docker_s_interfaces_is_distinguished_from_others(
    machine: Machine, text: str, broad: bool
) -> None:
    networkd = machine.folder / "networkd"
    (networkd / "netif" / "links").mkdir(parents=True)
    (networkd / "files").mkdir()
    (networkd / "files" / "10-any.network").write_text(text)
    executable(
        machine.folder / "bin" / "networkctl", '#!/bin/sh\necho "networkctl $*" >>"$STATE/calls"\n'
    )
    (machine.folder / "bin" / "awk").symlink_to(shutil.which("awk") or "/usr/bin/awk")
    script = f"networkd={networkd} network_files={networkd}/files; is_root() {{ :; }}; keep_bridges"
    done = machine.shell(script)
    assert done.returncode == 0, done.stderr
    rule = networkd / "network" / "05-sandbox-docker.network"
    assert rule.exists() == broad == ("10-any.network" in done.stderr)
    assert machine.calls().count("networkctl reload") == broad
    assert not machine.shell(script).stderr, "reported twice"


def test_a_browser_is_asked_for_only_where_one_is_wanted(machine: Machine) -> None:
    assert machine.run().returncode == 0
    assert_refused(machine.run("browser"), "Neither Chromium nor Google Chrome is installed")
    executable(machine.folder / "bin" / "google-chrome", "#!/bin/sh\n")
    before = machine.calls()
    done = machine.run("browser")
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.calls() == before


@pytest.mark.parametrize(
    ("system", "installed"), [("debian", ["chromium-headless-shell"]), ("ubuntu", [])]
)
def test_root_on_debian_gets_a_browser_and_nobody_else(
    machine: Machine, system: str, installed: list[str]
) -> None:
    script = f"""system={system}
      can_install() {{ :; }}
      install_packages() {{
        printf '%s\\n' "$@" >>"$STATE/calls"
        printf '#!/bin/sh' >"$HOME/bin/chromium-headless-shell"
        chmod +x "$HOME/bin/chromium-headless-shell"
      }}
      ensure_browser"""
    done = machine.shell(script)
    assert machine.calls() == installed
    assert (done.returncode == 0) == bool(installed), done.stderr


def test_an_unknown_argument_is_refused(machine: Machine) -> None:
    assert_refused(machine.run("pyhton"), "'pyhton' is not known", exit_code=2)


def locked(name: str) -> dict[str, str]:
    """Package and version → the lines of its hashes."""
    text = (ROOT / "scripts" / name).read_text()
    entries = dict(
        re.findall(
            r"^([a-z0-9-]+==[^ ]+.*?) ?\\((?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+)$",
            text,
            re.M,
        )
    )
    assert len(entries) == len(re.findall(r"^[A-Za-z0-9._-]+==", text, re.M)), (
        "everything has a hash"
    )
    assert "://" not in text
    return entries


def test_the_locks_hash_everything_name_no_host_and_agree() -> None:
    runtime, development = locked("requirements.lock"), locked("development.lock")
    assert runtime.items() <= development.items(), (
        "adding what tests need replaces nothing that runs"
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for wanted, lock in (
        (project["project"]["dependencies"], runtime),
        ([*project["project"]["dependencies"], *project["dependency-groups"]["dev"]], development),
    ):
        names = {entry.partition("==")[0] for entry in lock}
        assert {re.split(r"[<>=;\[ ]", line)[0] for line in wanted} <= names

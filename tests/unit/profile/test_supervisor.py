"""PID 1 of a database node, run as a plain process: it ends with its server, except where a fault
says so.
"""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.profile.compose import compose_document
from sandbox.profile.files import SUPERVISOR
from sandbox.profile.names import Identity
from sandbox.profile.plan import PlanRequest
from sandbox.profile.templates import PLACEHOLDER
from sandbox.stack.planning import offline_plan

_SERVER = """
trap 'echo term; exit 7' TERM
sleep 60 & echo "helper $!"
echo "server $$"
while :; do sleep 0.05; done
"""


class Supervised:
    """A supervisor and the lines of its server."""

    def __init__(self, folder: Path, *command: str) -> None:
        script = folder / "supervisor"
        script.write_text(SUPERVISOR.replace("/sandbox/server.pid", str(folder / "server.pid")))
        self.process = subprocess.Popen(
            ["bash", script, *command], stdout=subprocess.PIPE, text=True
        )

    def pids(self) -> tuple[int, int]:
        """Of the helper and of the server, once it has started."""
        assert self.process.stdout
        helper, server = (self.process.stdout.readline().split() for _ in range(2))
        assert (helper[0], server[0]) == ("helper", "server")
        return int(helper[1]), int(server[1])


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    started = Supervised(tmp_path, "bash", "-c", _SERVER)
    yield started
    started.process.kill()


def is_gone(pid: int) -> bool:
    """Whether a process has ended, within five seconds."""
    stat, end = Path(f"/proc/{pid}/stat"), time.monotonic() + 5
    while time.monotonic() < end:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("exit 0", 0), ("kill -9 $$", 137)])
def test_it_ends_with_the_servers_exit_code(command: str, code: int, tmp_path: Path) -> None:
    assert Supervised(tmp_path, "bash", "-c", command).process.wait(10) == code


def test_term_reaches_the_server_itself(supervised: Supervised) -> None:
    supervised.pids()
    supervised.process.terminate()
    assert supervised.process.wait(10) == 7


def test_a_planned_crash_kills_all_of_the_server_and_leaves_the_container(
    supervised: Supervised,
) -> None:
    helper, server = supervised.pids()
    supervised.process.send_signal(signal.SIGUSR1)
    assert is_gone(server) and is_gone(helper)
    assert supervised.process.poll() is None
    supervised.process.send_signal(signal.SIGUSR2)
    _, again = supervised.pids()
    assert again != server
    supervised.process.terminate()
    assert supervised.process.wait(10) == 7


def test_a_server_that_asks_for_it_is_started_again_without_what_stood_beside_it(
    tmp_path: Path,
) -> None:
    """As MySQL does for RESTART, and after a clone."""
    asking = (
        f"[ -e {tmp_path}/again ] || {{ sleep 60 & echo helper $!; touch {tmp_path}/again; exit 16;"
        " }\n"
    )
    started = Supervised(tmp_path, "bash", "-c", f"{asking} echo parent $MYSQLD_PARENT_PID; exit 3")
    assert started.process.stdout
    helper, parent = (line.split() for line in started.process.stdout)
    assert started.process.wait(10) == 3 and is_gone(int(helper[1]))
    assert int(parent[1]) == started.process.pid, "or the server would refuse to end"


def test_a_container_whose_server_crashed_can_be_stopped(supervised: Supervised) -> None:
    _, server = supervised.pids()
    supervised.process.send_signal(signal.SIGUSR1)
    assert is_gone(server)
    supervised.process.terminate()
    assert supervised.process.wait(10) == 143


_PRELOADED = 'echo "preload $LD_PRELOAD"; exit 3'


def started_with(library: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that the supervisor and a server print that are to be given a library."""
    monkeypatch.setenv("SANDBOX_PRELOAD", library)
    (folder / "supervisor").write_text(
        SUPERVISOR.replace("/sandbox/server.pid", str(folder / "server.pid"))
    )
    words = ["bash", str(folder / "supervisor"), "bash", "-c", _PRELOADED]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    return done.stdout + done.stderr


def test_a_library_is_for_the_server_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = next(str(path) for path in Path("/lib").glob("*/libm.so.6"))
    assert started_with(library, tmp_path, monkeypatch) == f"preload {library}\n"


@pytest.mark.parametrize("content", [None, b"of another libc"])
def test_a_library_that_cannot_be_loaded_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    library = tmp_path / "library.so"
    if content:
        library.write_bytes(content)
    shown = started_with(str(library), tmp_path, monkeypatch)
    assert "preload \n" in shown and f"[supervisor] the server starts without {library}: " in shown


@pytest.mark.parametrize(
    "profile",
    ["mysql@9.7+replica1", "ps@8.0", "mariadb@11.8", "galera3", "pxc3", "gr3@9.7", "psgr3"],
)
def test_it_is_the_first_process_of_every_database_node(profile: str) -> None:
    plan = offline_plan(PlanRequest(profile))
    document = compose_document(plan, PLACEHOLDER, Identity("x", "/x"))
    for node in plan.databases:
        service = document["services"][node.name]
        assert service["entrypoint"][:2] == ["bash", "/sandbox/supervisor"]
        assert service["entrypoint"][-1] == node.component.spec.server
        assert "command" not in service

"""Logs: printed in the order of time, or saved with the files that servers wrote."""

import io
import tarfile
from pathlib import Path
from typing import IO

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.lifecycle import down
from sandbox.stack.logs import print_logs, save_logs
from sandbox.stack.protocol import ExecResult
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, running_stack


@pytest.fixture
def docker() -> FakeDocker:
    """An engine."""
    return FakeDocker()


def test_logs_of_several_nodes_come_in_the_order_of_time(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.on("^logs .*mysql1", answer("2026-01-01T00:00:01Z one\n2026-01-01T00:00:03Z three\n"))
    docker.on("^logs .*replica1", answer("2026-01-01T00:00:02Z two\n"))
    docker.on("^logs .*client1", answer(""))
    assert print_logs(running_stack(docker, "mysql+replica1"), None, follow=False) == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == [
        "mysql1 | one",
        "replica1 | two",
        "mysql1 | three",
    ]


def test_the_log_of_one_node_is_its_own_lines(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.on("^logs", answer("2026-01-01T00:00:01Z one | two\n"))
    print_logs(running_stack(docker, "mysql"), "mysql1", follow=True)
    assert capsys.readouterr() == ("one | two\n", "")
    assert "--follow" in docker.calls[-1]


def test_followed_logs_all_arrive(docker: FakeDocker, capsys: pytest.CaptureFixture[str]) -> None:
    docker.on("^logs", lambda argv: answer(f"t {argv[-1][-6:]}\n"))
    print_logs(running_stack(docker, "mysql+replica1"), None, follow=True)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "client1 | lient1",
        "mysql1 | mysql1",
        "replica1 | plica1",
    ]


def archive(**files: bytes) -> bytes:
    """A tar file; ``__`` in a name is a slash, and a leading one leads out of the folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("_dots", ".."))
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return packed.getvalue()


class WithFiles(FakeDocker):
    """Containers that printed bytes, with log files in /var/log and in their data directories."""

    def into(self, file: IO[bytes], *argv: str, with_errors: bool = False) -> ExecResult:
        """Writes what each command prints."""
        self.calls.append(argv)
        if argv[0] == "logs":
            assert with_errors, "a server logs to its standard error"
            file.write(b"\xff " + argv[-1].encode() + b"\n")
        elif argv[0] == "cp":
            file.write(archive(log__mysql__error=b"of the server", log__apt=b"of the system"))
        else:
            assert f"{self.servers[0]}:ro" in argv or f"{self.servers[-1]}:ro" in argv
            file.write(archive(mysql1_err=b"own", _dots___dots__out=b"led out"))
        return answer()

    servers: tuple[str, ...] = ()


def test_logs_are_saved_byte_by_byte_with_those_that_servers_wrote_themselves(
    tmp_path: Path,
) -> None:
    docker = WithFiles()
    stack = running_stack(docker, "mysql+replica1")
    docker.servers = tuple(each.id for each in stack.members if each.is_server)
    saved = save_logs(docker, stack.members, stack.client.image, tmp_path / "a" / "b")
    found = {str(path.relative_to(tmp_path / "a" / "b")): path.read_bytes() for path in saved}
    assert found["mysql1.log"].startswith(b"\xff ") and "client1.log" in found
    assert (
        found["mysql1/log/mysql/error"] == b"of the server"
        and found["replica1/mysql1_err"] == b"own"
    )
    assert found["mysql1/out"] == b"led out" and not any("apt" in name for name in found)


def test_a_stack_is_removed_with_its_logs_kept(tmp_path: Path) -> None:
    docker, events = WithFiles(), Events()
    stack = running_stack(docker, "mysql")
    docker.servers = tuple(each.id for each in stack.members if each.is_server)
    assert down(None, events, docker, keep_logs_in=tmp_path).anything
    (folder,) = tmp_path.iterdir()
    assert folder.name.endswith("-logs-default") and (folder / "mysql1.log").is_file()
    assert str(folder) in str(events)
    down(None, events, docker, keep_logs_in=tmp_path)
    assert [*tmp_path.iterdir()] == [folder], "of nothing there is no log"


def test_a_stack_whose_logs_cannot_be_kept_stays(tmp_path: Path) -> None:
    docker = WithFiles()
    running_stack(docker, "mysql")
    (tmp_path / "results").write_text("a file")
    with pytest.raises(SandboxError) as refused:
        down(None, Events(), docker, keep_logs_in=tmp_path / "results")
    assert refused.value.exit_code is ExitCode.ENVIRONMENT and docker.containers

"""Servers that somebody built: read and refused before anything is planned, built on the first
Debian that has their libraries.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.profile.given import Binary
from sandbox.profile.images import Availability, ImageChoice
from sandbox.stack import binary_build
from sandbox.stack.binaries import read_binaries, refuse_other_processor
from sandbox.stack.binary_build import BinaryBuild
from sandbox.stack.supply import needs_supply
from unit.profile.small_library import CATALOG, ONLINE, plan
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.test_binary_tree import made, packed

BINARY = Binary("mysql", "server.tar.xz", "mysqld", "amd64", "0123456789abcdef")


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_binary_is_known_by_its_content(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "bin/mysqld", "bin/mysql")
    (first,) = read_binaries((f"mysql={root}",))
    assert (first.word, first.path, first.program, first.machine) == (
        "mysql",
        str(root),
        "mysqld",
        "amd64",
    )
    assert first.mark == f"binary-{first.sha256[:12]}"
    assert read_binaries((f"mysql={root}",)) == (first,)
    made(root, "mysql-test/a.test")
    assert read_binaries((f"mysql={root}",)) == (first,), "of what belongs in an image"
    (root / "bin" / "mysql").write_text("changed")
    assert read_binaries((f"mysql={root}",))[0].sha256 != first.sha256
    (archived,) = read_binaries((f"ps={packed(root, tmp_path / 'x.tar.xz')}",))
    assert (archived.word, archived.program) == ("ps", "mysqld")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("mysql", "BINARY: 'mysql' names no server"),
        ("=a", "BINARY: '=a' names no server"),
        ("mysql='a", 'BINARY: "mysql=\'a" names no server'),
        ("mysql={}/none", "is not there, or no archive"),
        ("mysql={}/a.txt", "is not there, or no archive"),
        ("mysql={}/broken.tar.xz", "cannot be read"),
        ("mysql={}/empty", "has no server in it"),
        ("mysql={}/script", "is no program of Linux"),
    ],
)
def test_what_is_no_binary_is_three_lines(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").touch()
    (tmp_path / "broken.tar.xz").write_bytes(b"no archive")
    made(tmp_path / "script", "bin/mysql")
    (tmp_path / "script" / "bin" / "mysqld").write_text("#!/bin/sh\n")
    with pytest.raises(SandboxError) as refused:
        read_binaries((text.format(tmp_path),))
    assert what in refused.value.what and len(refused.value.lines()) == 3
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_binary_for_another_processor_is_refused() -> None:
    docker = FakeDocker()
    docker.on("^version", answer("arm64\n"))
    refuse_other_processor((), docker)
    assert not docker.calls
    with pytest.raises(
        SandboxError, match=r"the server of server\.tar\.xz is for amd64"
    ) as refused:
        refuse_other_processor((BINARY,), docker)
    assert refused.value.known == "the engine's processor is arm64"


def test_a_binary_is_built_once_and_then_found_by_the_end_of_its_name() -> None:
    made = plan("mysql", binaries=(BINARY,))
    assert (made.node("mysql1").image, made.node("mysql1").choice.source) == (
        "sandbox/mysql:binary-0123456789ab",
        "build",
    )
    assert needs_supply(made)
    built = "sandbox/mysql:8.4.9-binary-0123456789ab"
    made = plan("mysql", Availability(frozenset({built})), binaries=(BINARY,))
    assert (made.node("mysql1").image, made.node("mysql1").choice.source) == (built, "local")


def test_a_binary_of_another_server_or_for_a_proxy_is_refused() -> None:
    other = Binary("mysql", "m.tar", "mariadbd", "amd64", "00")
    with pytest.raises(SandboxError, match=r"BINARY: m\.tar has the server mariadbd"):
        plan("mysql", binaries=(other,))
    proxy = Binary("balancer", "m.tar", "mysqld", "amd64", "00")
    with pytest.raises(SandboxError):
        plan("mysql+balancer", binaries=(proxy,))
    with pytest.raises(SandboxError, match="IMAGE and BINARY both name 'mysql'"):
        plan("mysql", binaries=(BINARY,), images=("mysql=own",))
    with pytest.raises(SandboxError, match=r"BINARY: 'mysql=server\.tar\.xz' names no node"):
        plan("cluster", binaries=(BINARY,))


class Engine(FakeDocker):
    """Builds on the suites that have everything; says what is missing on the others."""

    def __init__(self, missing: dict[str, list[str]]) -> None:
        super().__init__()
        self.missing = missing
        self.tried: list[str] = []
        self.code = 1
        self.on("^image inspect", answer("sha256:abc\n"))
        self.on("^run", answer("mysqld --version\tmysqld  Ver 8.4.9-x for Linux\nend\n"))

    def follow(self, argv: list[str], on_line: Callable[[str], None]) -> tuple[int, list[str]]:
        """The scripts and builds that an image needs."""
        if argv[0] != "docker":
            return 0, []
        suite = next(word for word in argv if word.startswith("SUITE=")).removeprefix("SUITE=")
        assert "--force-rm" in argv, "a build that fails leaves no container"
        self.tried.append(suite)
        lines = [f"#8 2.1 sandbox-missing: {each}" for each in self.missing.get(suite, ())]
        for line in lines:
            on_line(line)
        return (self.code if suite in self.missing else 0), lines or ["done"]


def build_of(path: Path, docker: Engine) -> BinaryBuild:
    """The build of a server in a folder."""
    (binary,) = read_binaries((f"mysql={path}",))
    choice = ImageChoice("mysql", "9.7", "9.7.2", "sandbox/mysql:x", "build", "given")
    ignore: Callable[[Any], None] = lambda _: None  # noqa: E731
    return BinaryBuild(choice, binary, docker, CATALOG, docker.follow, ignore, ignore)


def test_the_first_suite_with_all_libraries_is_taken(tmp_path: Path) -> None:
    docker = Engine({"bookworm": ["libaio.so.1t64 /usr/local/mysql/bin/mysqld"]})
    build = build_of(made(tmp_path / "in", "bin/mysqld", "bin/mysql"), docker)
    assert build.run() == f"sandbox/mysql:8.4.9-{build.binary.mark}"
    assert docker.tried == ["bookworm", "trixie"]
    assert [call[-1] for call in docker.called("tag")] == [
        f"sandbox/mysql:8.4.9-{build.binary.mark}"
    ]
    assert list((tmp_path / "cache" / "sandbox" / "binaries").iterdir()) == []


def test_a_suite_with_an_older_c_library_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary_build, "symbols_of", lambda _: (38, 32))
    docker = Engine({})
    build_of(made(tmp_path / "in", "bin/mysqld", "bin/mysql"), docker).run()
    assert docker.tried == ["trixie"]


def test_a_library_that_no_debian_has_is_named(tmp_path: Path) -> None:
    suites = binary_build.SUITES
    docker = Engine({suite: ["libaio.so.9 /usr/local/mysql/bin/mysqld"] for suite in suites})
    build = build_of(made(tmp_path / "in", "bin/mysqld", "bin/mysql"), docker)
    with pytest.raises(SandboxError) as refused:
        build.run()
    assert refused.value.what == "BINARY: libaio.so.9 (of mysqld) is missing"
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert "bookworm, trixie, sid" in refused.value.known


def test_a_build_that_fails_otherwise_ends_with_its_last_line(tmp_path: Path) -> None:
    docker = Engine({"bookworm": []})
    with pytest.raises(MachineError, match="no image can be made") as failed:
        build_of(made(tmp_path / "in", "bin/mysqld", "bin/mysql"), docker).run()
    assert failed.value.known == "done"


def test_a_tree_without_a_client_is_refused_before_it_is_built(tmp_path: Path) -> None:
    docker = Engine({})
    with pytest.raises(SandboxError, match=r"lacks mysql$"):
        build_of(made(tmp_path / "in", "bin/mysqld"), docker).run()
    assert not docker.tried


def test_the_planner_needs_no_registry_for_a_binary() -> None:
    assert plan("mysql", ONLINE, binaries=(BINARY,)).node("mysql1").choice.origin == "given"

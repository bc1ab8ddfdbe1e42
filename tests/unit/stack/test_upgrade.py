"""A server gets another container in another version: the same name, data and passwords, and
nothing else changes.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.compose import compose_document
from sandbox.profile.given import Binary
from sandbox.profile.images import Availability
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.templates import PASSWORD_NAMES
from sandbox.stack import upgrade as upgrade_module
from sandbox.stack.control import Control
from sandbox.stack.engine import RefusedError
from sandbox.stack.nodes import UPGRADED
from sandbox.stack.stack import Stack
from unit.profile.small_library import SMALL
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import running_stack

PASSWORDS = [f"Secret{number}" for number in range(len(PASSWORD_NAMES))]
HERE = frozenset({"mysql:8.0.46", "mysql:8.4.11", "mysql:9.7.2"})


class Engine(FakeDocker):
    """Compose gives a service another container instead of the one that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.on("cat /sandbox/passwords", answer("\n".join(PASSWORDS)))

    def _compose(self, argv: tuple[str, ...], stdin: str | None) -> Any:
        known = yaml.safe_load(stdin or "")["services"]
        old = [
            key
            for key, each in self.containers.items()
            if each["labels"].get("sandbox.node") in known
        ]
        made = super()._compose(argv, stdin)
        for key in old:
            self.containers[f"{key}-again"] = self.containers.pop(key)
        return made

    def _stop(self, argv: tuple[str, ...], stdin: str | None) -> Any:
        return self._become("exited", ("stop", *argv[3:]))

    def document(self) -> dict[str, Any]:
        """The file that Compose was given last."""
        found: dict[str, Any] = yaml.safe_load(
            next(text for text in reversed(self.inputs) if "services:" in text)
        )
        return found


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return Engine()


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[PlanRequest]:
    """Requests that were planned, on an engine with these images."""
    requests: list[PlanRequest] = []

    def planned(request: PlanRequest) -> Plan:
        requests.append(request)
        return make_plan(request, SMALL, Availability(local=HERE))

    monkeypatch.setattr(upgrade_module, "planned", planned)
    return requests


def test_only_this_service_is_made_anew(docker: Engine, asked: list[PlanRequest]) -> None:
    stack = running_stack(docker, "mysql@8.0+replica1", assignments=("a=1",))
    volumes, networks, ids = (
        dict(docker.volumes),
        dict(docker.networks),
        {each.id for each in stack.members},
    )
    stack.upgrade("replica1", "8.4")
    document = docker.document()
    assert (
        list(document["services"]) == ["replica1"]
        and document["services"]["replica1"]["image"] == "mysql:8.4.11"
    )
    shared = [*document["volumes"].items(), *document["networks"].items()]
    assert shared and all(
        each == {"external": True, "name": f"{stack.project}_{name}"} for name, each in shared
    )
    assert asked[0].assignments == ("a=1",)
    assert dict(asked[0].versions) == {"mysql1": "8.0", "replica1": "8.4"}
    assert {each.node for each in stack.members if each.id not in ids} == {"replica1"}
    assert volumes.keys() <= docker.volumes.keys() and networks.keys() <= docker.networks.keys()


def test_it_is_stopped_in_order_filled_and_started_under_the_same_passwords(docker: Engine) -> None:
    stack = running_stack(docker, "mysql@8.0")
    old = stack.container("mysql1")
    docker.calls.clear()
    stack.upgrade("mysql1", "8.4")
    new = stack.container("mysql1")
    done = [call for call in docker.calls if call[0] in ("stop", "compose", "cp", "start")]
    assert [call[0] for call in done] == ["stop", "compose", "cp", "start"]
    assert done[0] == ("stop", "-t", "10", old.id) and done[2] == ("cp", "-", f"{new.id}:/")
    assert done[3] == ("start", new.id) and (new.state, new.about["version"]) == (
        "running",
        "8.4.11",
    )
    assert f"mysql1 {PASSWORDS[0]}\n" in docker.inputs[-1]


def test_the_next_upgrade_knows_of_the_first(docker: Engine, asked: list[PlanRequest]) -> None:
    stack = running_stack(docker, "mysql@8.0+replica1")
    stack.upgrade("replica1", "8.4")
    stack.upgrade("mysql1", "8.4")
    assert dict(asked[1].versions) == {"mysql1": "8.4", "replica1": "8.4"}


def test_a_server_that_was_asked_for_exactly_stays_that_version(
    docker: Engine, asked: list[PlanRequest]
) -> None:
    stack = running_stack(docker, "mysql@8.0.46+replica1@8.4")
    stack.upgrade("replica1", "9.7")
    assert dict(asked[0].versions) == {"mysql1": "8.0.46", "replica1": "9.7"}


def test_a_stack_with_upgraded_servers_is_no_single_plans(docker: Engine) -> None:
    stack = running_stack(docker, "mysql@8.0+replica1")
    assert stack.plan == stack.members[0].plan != UPGRADED
    stack.upgrade("replica1", "8.4")
    assert stack.plan == UPGRADED and stack.profile == "mysql@8.0+replica1"


def test_a_stack_that_another_process_holds_finds_the_new_container(docker: Engine) -> None:
    stack = running_stack(docker, "mysql@8.0")
    other = Stack(stack.containers, docker)
    stack.upgrade("mysql1", "8.4")
    assert id_of(other) != id_of(stack)
    other.refresh()
    assert id_of(other) == id_of(stack)


def id_of(stack: Stack) -> str:
    """The container that is broken as mysql1."""
    control = stack.control("mysql1")
    assert isinstance(control, Control)
    return control._id


@pytest.mark.parametrize(
    ("version", "code", "words"),
    [
        ("5.6", ExitCode.ENVIRONMENT, "its image mysql:5.6.51 is not on this engine"),
        ("4.1", ExitCode.BAD_INPUT, "4.1"),
    ],
)
def test_what_cannot_be_started_stops_nothing(
    docker: Engine, version: str, code: ExitCode, words: str
) -> None:
    stack = running_stack(docker, "mysql@8.0")
    with pytest.raises(SandboxError, match=words) as refused:
        stack.upgrade("mysql1", version)
    assert refused.value.exit_code is code and not docker.called("stop")


@pytest.mark.parametrize("fails", ["^compose .*--no-start", "^cp -"])
def test_a_refusal_of_the_engine_starts_the_old_server_again(docker: Engine, fails: str) -> None:
    stack = running_stack(docker, "mysql@8.0")
    docker.on(fails, answer(code=1, stderr="no space left on device"))
    old = stack.container("mysql1").id
    docker.on("^start", answer())
    with pytest.raises(RefusedError):
        stack.upgrade("mysql1", "8.4")
    assert docker.calls[-1] == ("start", old)


def test_the_users_file_and_the_groups_name_are_read_back(
    docker: Engine, asked: list[PlanRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox.profile.plan import UserFile

    docker.on("99-user.cnf", answer("[mysqld]\nmax_connections = 7\n"))
    docker.on("group_replication_group_name", answer("5f1c\n"))
    stack = running_stack(docker, "cluster@8.0", cnf=UserFile("mine.cnf", "[mysqld]\n", "abc"))
    found: list[Any] = []

    def noted(*given: Any) -> dict[str, Any]:
        found.append(given[1])
        return compose_document(*given)

    monkeypatch.setattr(upgrade_module, "compose_document", noted)
    stack.upgrade("cluster1", "8.4")
    assert asked[0].cnf == UserFile("mine.cnf", "[mysqld]\nmax_connections = 7\n", "abc")
    assert found[0].uuid == "5f1c" and found[0].passwords() == PASSWORDS


@pytest.mark.parametrize("binary", [False, True])
def test_the_other_servers_keep_their_own_images(
    binary: bool, docker: Engine, asked: list[PlanRequest]
) -> None:
    request: dict[str, Any] = {"images": ("mysql1=mine:1",)}
    expected = ("mysql1=mine:1",)
    if binary:
        request = {"binaries": (Binary("mysql1", "my.tar", "mysqld", "amd64", "0123456789ab"),)}
        expected = ("mysql1=sandbox/mysql:binary-0123456789ab",)
    stack = running_stack(docker, "mysql@8.0+replica1@8.0", **request)
    stack.upgrade("replica1", "8.4")
    assert asked[0].images == expected
    assert dict(asked[0].versions) == {"replica1": "8.4"}, "the image says its version"

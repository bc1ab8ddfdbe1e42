"""CNF=: for whom each file is, what becomes of the generated one, and what is refused."""

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.compose import compose_document, inputs
from sandbox.profile.data_directory import restorable
from sandbox.profile.names import Identity
from sandbox.profile.own_files import AskedFile, own_files_of, split_files, with_own_files
from sandbox.profile.plan import OwnFile, Plan, PlanRequest, UserFile
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library, read_configuration_files
from sandbox.profile.templates import PLACEHOLDER
from unit.profile.small_library import ONLINE, plan


def user_file(name: str, content: str) -> UserFile:
    """A file as the reader gives it."""
    return UserFile(name, content, hashlib.sha256(content.encode()).hexdigest())


OWN = user_file("my.cfg", "listen mine\n  price 5$\n")
OPTIONS = user_file("my.cnf", "[mysqld]\nmax_connections = 5\n")


def planned(profile: str, *files: OwnFile, **request: Any) -> Plan:
    """A plan with files of the user's."""
    return plan(profile, own_files=files, **request)


def contents(made: Plan, node: str) -> dict[str, str]:
    """Path → content of the files of a node."""
    document = compose_document(made, PLACEHOLDER, Identity("p", "c"))
    return {
        mount["target"]: document["configs"][mount["source"]]["content"].replace("$$", "$")
        for mount in document["services"][node]["configs"]
    }


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("my.cnf", [AskedFile("my.cnf")]),
        ("/a/b.cnf", [AskedFile("/a/b.cnf")]),
        ("./a:b.cnf", [AskedFile("./a:b.cnf")]),
        ("haproxy:my.cfg", [AskedFile("my.cfg", "haproxy")]),
        (
            "a.cnf galera2:'b c.cnf' haproxy!/x/my.cfg",
            [
                AskedFile("a.cnf"),
                AskedFile("b c.cnf", "galera2"),
                AskedFile("/x/my.cfg", "haproxy", instead=True),
            ],
        ),
    ],
)
def test_files_are_separated_by_blanks_and_named_before_a_sign(
    text: str, files: list[AskedFile]
) -> None:
    assert split_files(text) == files


@pytest.mark.parametrize("text", ["a.cnf b.cnf", "'a.cnf", "a.cnf 'b", "a.cnf ''"])
def test_a_text_that_is_no_list_of_files_is_refused(text: str) -> None:
    with pytest.raises(SandboxError) as refused:
        split_files(text)
    assert refused.value.exit_code == 2


def test_a_path_with_blanks_that_is_a_file_needs_no_quotes(tmp_path: Path) -> None:
    path = tmp_path / "my own.cnf"
    path.write_text("[mysqld]\n")
    common, own = read_configuration_files(str(path))
    assert common is not None
    assert (common.name, own) == ("my own.cnf", ())


def test_a_file_is_added_to_the_generated_one_of_the_nodes_that_it_names() -> None:
    made = planned("mysql+balancer2", OwnFile("balancer2", OWN))
    ours = "balancer1 placeholder-root\n"
    assert contents(made, "balancer1")["/own"] == ours
    assert contents(made, "balancer2")["/own"] == (
        f"{ours.replace('1', '2')}\n# CNF my.cfg\n{OWN.content}"
    )
    both = planned("mysql+balancer2", OwnFile("balancer", OWN), OwnFile("balancer1", OPTIONS))
    assert contents(both, "balancer1")["/own"].endswith(
        f"{OWN.content}\n# CNF my.cnf\n[mysqld]\nmax_connections = 5\n"
    )
    assert contents(both, "balancer2")["/own"].endswith(OWN.content)


def test_a_file_in_place_of_ours_is_all_there_is_and_nothing_is_known_of_it() -> None:
    made = planned("mysql+balancer", OwnFile("balancer", OWN, instead=True))
    assert contents(made, "balancer1")["/own"] == OWN.content
    ready = made.node("balancer1").ready
    assert ready is not None
    assert (ready.via, ready.expect) == ("self", "listens")


def test_an_object_gets_the_keys_of_the_users() -> None:
    file = user_file("my.json", '{"b": [1], "c": "x"}')
    made = planned("mysql+replica+manager", OwnFile("manager", file))
    assert with_own_files(made, made.node("manager1"), "/own", '{"a": 1, "b": 2}') == (
        '{\n  "a": 1,\n  "b": [1],\n  "c": "x"\n}\n'
    )


def test_a_server_reads_the_file_of_its_term_after_everybodys_and_its_own_last() -> None:
    made = planned(
        "mysql+replica2", OwnFile("replica2", OPTIONS), OwnFile("replica", OPTIONS), cnf=OPTIONS
    )
    folder = "/etc/mysql/conf.d/"
    read = [path for path in sorted(contents(made, "replica2")) if path.startswith(folder)]
    assert [path.removeprefix(folder) for path in read[-3:]] == [
        "99-user.cnf",
        "99-user_replica.cnf",
        "99-user_replica2.cnf",
    ]
    assert f"{folder}99-user_replica2.cnf" not in contents(made, "replica1")


@pytest.mark.parametrize(
    "files",
    [
        (OwnFile("balancer", OWN),),
        (OwnFile("balancer1", OWN), OwnFile("balancer", OPTIONS)),
        (OwnFile("balancer", OWN, instead=True),),
    ],
)
def test_the_proof_holds_for_the_generated_file_and_for_no_other(
    files: tuple[OwnFile, ...], tmp_path: Path
) -> None:
    made = planned("mysql+balancer", *files)
    (proof,) = (each.proof for name, each in made.node("balancer1").applied if "CNF" in name)
    path = tmp_path / "own"
    command = (proof.command or [])[2].replace("/own", str(path))
    command = command.removeprefix("{% raw %}").removesuffix("{% endraw %}")
    path.write_text(contents(made, "balancer1")["/own"])
    assert subprocess.check_output(["sh", "-c", command], text=True).strip() == proof.expect
    path.write_text(path.read_text() + "\n")
    assert subprocess.check_output(["sh", "-c", command], text=True).strip() != proof.expect


def test_files_are_recorded_by_name_and_hash() -> None:
    made = planned("mysql+balancer", OwnFile("balancer", OWN, instead=True), cnf=OPTIONS)
    assert inputs(made)["cnf_files"] == {"balancer!my.cfg": OWN.sha256}
    assert inputs(made)["cnf_name"] == "my.cnf"


def test_an_auxiliary_node_has_no_file_of_its_components() -> None:
    made = planned("mysql+balancer", OwnFile("balancer", OWN))
    assert own_files_of(made.request, made.node("checker1")) == []


def test_a_servers_own_init_file_rules_a_snapshot_out() -> None:
    def shipped(file: UserFile) -> Plan:
        request = PlanRequest("mysql@9.7+replica", own_files=(OwnFile("replica1", file),))
        return make_plan(request, load_library(), ONLINE)

    assert restorable(shipped(OPTIONS))
    assert not restorable(shipped(user_file("my.cnf", "[mysqld]\ninit_file=/x\n")))


@pytest.mark.parametrize(
    ("files", "what", "known"),
    [
        ([OwnFile("blancer", OWN)], "'blancer' is no node of the profile", "'balancer"),
        ([OwnFile("replica2", OPTIONS)], "'replica2' is no node", "'replica'"),
        ([OwnFile("checker1", OWN)], "'checker1' is no node", ""),
        ([OwnFile("watcher", OWN)], "watcher takes no file", "balancer"),
        ([OwnFile("mysql1", OPTIONS, instead=True)], "cannot be replaced", "read after it"),
        ([OwnFile("mysql1", OWN)], "in my.cfg, 'listen' stands before any group", "[mysqld]"),
        (
            [OwnFile("balancer", OWN, instead=True), OwnFile("balancer1", OWN, instead=True)],
            "balancer!my.cfg and balancer1!my.cfg are both for balancer1",
            "one file",
        ),
        ([OwnFile("manager", OWN)], "my.cfg:1 is not JSON", "Expecting value"),
        ([OwnFile("manager", user_file("x", "[]"))], "x is no JSON object", "such as"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(files: list[OwnFile], what: str, known: str) -> None:
    with pytest.raises(SandboxError) as refused:
        planned("mysql+replica+balancer+manager+watcher", *files)
    assert what in refused.value.what
    assert known in refused.value.known
    assert refused.value.exit_code == 2


def test_an_option_of_a_file_that_is_replaced_is_refused() -> None:
    with pytest.raises(SandboxError, match="changes nothing: a file of CNF= is in its place"):
        planned(
            "mysql+balancer",
            OwnFile("balancer", OWN, instead=True),
            assignments=("balancer:mode=x",),
        )

"""The files of a node: few of them, since each costs an old engine a process."""

from sandbox.plan.files import NodeFile, joined
from unit.plan.small_library import plan

FOLDER = "/docker-entrypoint-initdb.d"
OTHER = [NodeFile("done.sh", f"{FOLDER}/99-done.sh", "rm x\n"), NodeFile("a", "/elsewhere/10-a.sql", "A\n")]


def join(*files: NodeFile) -> list[NodeFile]:
    """The SQL of one folder, joined, on a server."""
    return joined([*OTHER, *files], plan("mysql").node("mysql1"), FOLDER, ".sql", "10-first-start.sql", "-- ")


def test_parts_keep_their_order_and_their_names() -> None:
    *rest, whole = join(
        NodeFile("reset", f"{FOLDER}/90-reset.sql", "RESET\n"), NodeFile("u", f"{FOLDER}/10-u.sql", "U\n")
    )
    assert rest == OTHER
    assert (whole.target, whole.source) == (f"{FOLDER}/10-first-start.sql", "mysql-first-start.sql")
    assert whole.content == "-- 10-u.sql\nU\n\n-- 90-reset.sql\nRESET\n"
    assert (whole.mode, whole.owner) == (0o444, None)


def test_the_whole_is_as_secret_as_its_most_secret_part() -> None:
    secret = NodeFile("u", f"{FOLDER}/10-u.sql", "U\n", 0o400, ("999", "999"))
    whole = join(secret, NodeFile("reset", f"{FOLDER}/90-reset.sql", "RESET\n"))[-1]
    assert (whole.mode, whole.owner) == (0o400, ("999", "999"))


def test_a_single_file_stays_what_it_is() -> None:
    alone = NodeFile("u", f"{FOLDER}/10-u.sql", "U\n")
    assert join(alone) == [*OTHER, alone]

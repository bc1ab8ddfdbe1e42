"""Files: what is joined, what is a secret, and who owns what."""

import os
import subprocess
from pathlib import Path

import pytest

from sandbox.profile.files import AS_USER_SCRIPT, NodeFile, image_user, joined, started_as
from sandbox.profile.library import ComponentSpec
from unit.profile.small_library import plan

FOLDER = "/docker-entrypoint-initdb.d"
OTHER = [
    NodeFile("done.sh", f"{FOLDER}/99-done.sh", "rm x\n"),
    NodeFile("a", "/elsewhere/10-a.sql", "A\n"),
]


def join(*files: NodeFile) -> list[NodeFile]:
    """The SQL of one folder, joined, on a server."""
    return joined(
        [*OTHER, *files], plan("mysql").node("mysql1"), FOLDER, ".sql", "10-first-start.sql", "-- "
    )


def test_parts_keep_their_order_and_their_names() -> None:
    *rest, whole = join(
        NodeFile("reset", f"{FOLDER}/90-reset.sql", "RESET\n"),
        NodeFile("u", f"{FOLDER}/10-u.sql", "U\n"),
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


def test_the_fragments_own_entrypoint_runs_as_the_images_user() -> None:
    words = started_as("mysql", ["bash", "/sandbox/entrypoint"])
    assert words == ["sh", "/sandbox/as-user", "mysql", "bash", "/sandbox/entrypoint"]


def test_most_images_start_as_root_by_themselves() -> None:
    assert image_user(plan("mysql").node("mysql1")) is None
    assert "user" in ComponentSpec.model_fields


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_program_gets_the_files_and_sees_its_arguments_folder_and_home(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret")
    (tmp_path / "password").chmod(0o400)
    folders = "/sandbox /docker-entrypoint-initdb.d"
    script = AS_USER_SCRIPT.replace(folders, f"{tmp_path} {tmp_path}/none")
    program = ["sh", "-c", 'echo "$(id -un) $PWD $HOME $1"', "x", "a b"]
    command = ["sh", "-s", "nobody", *program]
    done = subprocess.run(
        command, input=script, text=True, capture_output=True, cwd="/usr/share", check=False
    )
    home = subprocess.run(
        ["sh", "-c", "echo ~nobody"], text=True, capture_output=True, check=True
    ).stdout.strip()
    assert (done.stdout.strip(), done.stderr) == (f"nobody /usr/share {home} a b", "")
    assert (tmp_path / "password").owner() == "nobody"

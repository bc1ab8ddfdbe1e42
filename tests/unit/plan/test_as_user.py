"""A service whose image has a user of its own: started as root, which hands over the files and becomes that user."""

import os
import subprocess
from pathlib import Path

import pytest

from sandbox.plan.as_user import SCRIPT, image_user, started_as
from sandbox.plan.component import ComponentSpec
from unit.plan.small_library import plan


def test_the_fragments_own_entrypoint_runs_as_the_images_user() -> None:
    service = {"entrypoint": ["bash", "/sandbox/entrypoint"], "command": ["mysqld"]}
    assert started_as("mysql", service) == {
        "user": "root",
        "entrypoint": ["sh", "/sandbox/as-user", "mysql", "bash", "/sandbox/entrypoint"],
    }


def test_most_images_start_as_root_by_themselves() -> None:
    assert image_user(plan("mysql").node("mysql1")) is None
    assert "user" in ComponentSpec.model_fields


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_program_gets_the_files_and_sees_its_arguments_folder_and_home(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret")
    (tmp_path / "password").chmod(0o400)
    script = SCRIPT.replace("/sandbox /docker-entrypoint-initdb.d", f"{tmp_path} {tmp_path}/none")
    program = ["sh", "-c", 'echo "$(id -un) $PWD $HOME $1"', "x", "a b"]
    command = ["sh", "-s", "nobody", *program]
    done = subprocess.run(command, input=script, text=True, capture_output=True, cwd="/usr/share", check=False)
    home = subprocess.run(["sh", "-c", "echo ~nobody"], text=True, capture_output=True, check=True).stdout.strip()
    assert (done.stdout.strip(), done.stderr) == (f"nobody /usr/share {home} a b", "")
    assert (tmp_path / "password").owner() == "nobody"

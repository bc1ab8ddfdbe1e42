"""Packs of made-up repros, and their scripts carried out with a client that answers from a file."""

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from sandbox.profile.images import Availability
from sandbox.profile.plan import Plan
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER
from sandbox.repro.definition import Repro
from sandbox.repro.pack.document import packed
from sandbox.repro.pack.versions import with_published_images
from sandbox.repro.runner import ReproCell
from sandbox.repro.versions import VersionOfRepro

CLIENT = Path(__file__).with_name("client.sh")
FUNCTIONS = Path(__file__).parents[4] / "scripts" / "sandbox" / "repro" / "pack" / "functions.sh"
EXPECTED = """
expect:
  bug: [{query: select 1, rows: 1}]
  fixed: [{query: select 1, rows: 2}]
"""


def repro_of(text: str) -> Repro:
    """A repro as a file has it; its title and question may be left out, and what is expected."""
    data = {"title": "A bug", "question": "Is it there?", "profile": "mysql"}
    data |= yaml.safe_load(EXPECTED) | yaml.safe_load(text)
    return Repro.model_validate({**data, "name": "made-up"})


def plan_of(repro: Repro) -> Plan:
    """Its plan with published images; no engine is asked."""
    cell = ReproCell(repro, VersionOfRepro("", repro.profile))
    library = with_published_images(load_library())
    return make_plan(cell.request, library, Availability(registry=lambda: True))


def pack_of(repro: Repro, dump: str | None = None) -> dict[str, Any]:
    """The Compose file as data."""
    found: dict[str, Any] = yaml.safe_load(packed(repro, plan_of(repro), PLACEHOLDER, dump))
    return found


def content(pack: dict[str, Any], name: str) -> str:
    """A file of a pack as its container has it."""
    text: str = pack["configs"][name]["content"]
    return text.replace("$$", "$")


def steps_of(text: str) -> list[str]:
    """The lines of steps.sh from the first step to the last expectation."""
    lines = content(pack_of(repro_of(text)), "steps.sh").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("# The steps"))
    return [line for line in lines[first:-1] if line and not line.startswith("#")]


def carried_out(
    text: str, answers: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The script of a repro to its end; ``answers``: what servers say (client.sh)."""
    pack = pack_of(repro_of(text))
    (folder / "functions.sh").write_text(content(pack, "functions.sh"))
    (folder / "root-password").write_text("secret")
    (folder / "answers.sh").write_text(answers)
    steps = content(pack, "steps.sh")
    steps = steps.replace("client=(mysql ", f"client=(bash {CLIENT} ")
    steps = steps.replace("client=(mariadb ", f"client=(bash {CLIENT} ")
    steps = steps.replace("/functions.sh", f"{folder}/functions.sh")
    steps = steps.replace("/root-password", f"{folder}/root-password")
    (folder / "steps.sh").write_text(steps)
    return subprocess.run(
        ["bash", folder / "steps.sh"],
        env={**os.environ, "ANSWERS": str(folder / "answers.sh"), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def in_bash(script: str) -> str:
    """What a script prints that has the functions."""
    head = f"client=(none)\nservers=(none)\n. {FUNCTIONS}\n"
    done = subprocess.run(
        ["bash", "-c", head + script], capture_output=True, text=True, timeout=30, check=True
    )
    assert not done.stderr
    return done.stdout

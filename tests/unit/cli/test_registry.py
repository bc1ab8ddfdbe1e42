"""Commands stand in `help` where their files say, and messages name them as this user types
them.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sandbox.cli.commands
from sandbox.cli.console import as_typed
from sandbox.cli.registry import COMMANDS, GROUPS, About, guide_of, guides
from sandbox.core.errors import ExitCode, SandboxError

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
COMMAND = '''"""A command."""

{said}


def command() -> None:
    """Does something.

    And more.
    """
'''
Put = Callable[..., None]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts commands into a folder that has no others, each with what it says about itself."""
    monkeypatch.setattr(sandbox.cli.commands, "__path__", [str(tmp_path)])

    def write(**commands: str) -> None:
        for name, said in commands.items():
            (tmp_path / f"{name}.py").write_text(COMMAND.format(said=said))

    return write


def about(group: str, after: str | None = None) -> str:
    """The line of a command."""
    return f"ABOUT = About(group={group!r}, after={after!r})"


def test_a_command_says_in_one_place_what_help_and_the_launcher_need(put: Put) -> None:
    put(
        one="ABOUT = About(group='results', after='two', needs_engine=False, recorded=True)",
        two="ABOUT = About(group='results')",
    )
    assert guide_of("one").text == "Does something."
    assert guide_of("one").about == About(
        group="results", after="two", needs_engine=False, recorded=True
    )
    assert guide_of("two").about == About(
        group="results", after=None, needs_engine=True, recorded=False
    )


def test_a_command_follows_the_one_that_it_names(put: Put) -> None:
    put(
        a=about("stacks", "c"),
        b=about("stacks", "c"),
        c=about("stacks"),
        d=about("stacks", "a"),
        e=about("measure"),
    )
    found = {group: [each.name for each in entries] for group, entries in guides().items()}
    assert list(found) == list(GROUPS)
    assert found == {
        "look first": [],
        "stacks": ["c", "a", "d", "b"],
        "measure": ["e"],
        "results": [],
    }


@pytest.mark.parametrize(
    ("said", "what", "known"),
    [
        (
            about("mesure", "first"),
            "commands/own_one.py has the unknown group 'mesure'",
            "did you mean 'measure'?",
        ),
        (
            about("measure", "frst"),
            "commands/own_one.py has no place after 'frst'",
            "of its group, did you mean 'first'?",
        ),
        (
            about("measure", "elsewhere"),
            "commands/own_one.py has no place after 'elsewhere'",
            "of its group, known: first",
        ),
        (
            about("measure", "own-one"),
            "commands/own_one.py has no place after 'own-one'",
            "of its group, known: first",
        ),
        ("", "commands/own_one.py has no ABOUT", "the function command, and ABOUT"),
        (
            "ABOUT = ('measure', 1)",
            "commands/own_one.py is not readable: ABOUT = ('measure', 1)",
            "About(…) takes group, after, needs_engine, plans, recorded",
        ),
        (
            "ABOUT = About(group='measure', place=1)",
            "commands/own_one.py is not readable: ",
            "About(…) takes group, after, needs_engine, plans, recorded",
        ),
        (
            "ABOUT = About(group=MEASURE)",
            "commands/own_one.py is not readable: malformed node",
            "in plain values",
        ),
    ],
)
def test_a_command_without_a_place_is_refused(put: Put, said: str, what: str, known: str) -> None:
    put(first=about("measure"), elsewhere=about("results"), own_one=said)
    with pytest.raises(SandboxError) as refused:
        guides()
    assert refused.value.exit_code is ExitCode.INTERNAL and len(refused.value.lines()) == 3
    assert refused.value.what.startswith(what) and known in refused.value.known


def in_another_process(script: str) -> list[str]:
    """Lines that a script prints."""
    argv = [sys.executable, "-c", script]
    done = subprocess.run(argv, cwd=SCRIPTS, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_help_imports_no_other_command() -> None:
    script = """
import sys
sys.argv = ["sandbox", "help"]
from sandbox.cli.main import main
try:
    main()
finally:
    print(*(name for name in sys.modules if name.startswith("sandbox.cli.commands.")))
"""
    assert in_another_process(script)[-1] == "sandbox.cli.commands.help"


def test_a_command_imports_no_other_one() -> None:
    script = """
import sys
import sandbox.cli.commands as package
from sandbox.cli.command_options import load
from sandbox.cli.registry import COMMANDS
for command in COMMANDS.names():
    load(command)
    imported = [name for name in sys.modules if name.startswith("sandbox.cli.commands.")]
    print(command, *imported)
    for name in imported:
        del sys.modules[name]
        delattr(package, name.rpartition(".")[2])
"""
    files = {name: name.replace("-", "_") for name in COMMANDS.names()}
    expected = [f"{name} sandbox.cli.commands.{file}" for name, file in files.items()]
    assert in_another_process(script) == expected


@pytest.mark.parametrize(
    ("text", "installed"),
    [
        ("try: make ps", "try: sandbox ps"),
        ("try: make up PROFILE=galera3+haproxy NAME=a", "try: sandbox up galera3+haproxy --name a"),
        (
            "make matrix MATRIX=quick ONLY='threads=1,16'   (or less)",
            "sandbox matrix quick --only 'threads=1,16'   (or less)",
        ),
        ("measure  make bench THREADS=8 JSON=1", "measure  sandbox bench --threads 8 --json"),
        ("make down NAME=a, or make start", "sandbox down --name a, or sandbox start"),
        ("make matrix ONLY=threads=1,16 SEED=5", "sandbox matrix --only threads=1,16 --seed 5"),
        (
            """make smoke HEAD_SET='sql_mode='"'"'ANSI'"'"'' THREADS=8 SEED=5""",
            """sandbox smoke --head-set 'sql_mode='"'"'ANSI'"'"'' --threads 8 --seed 5""",
        ),
        ("(make down NAME=a)", "(sandbox down --name a)"),
        ("try: scripts/bootstrap", "try: sandbox doctor"),
        ("try: make test-unit", "try: make test-unit"),
        ("make sure that it is there", "make sure that it is there"),
    ],
)
def test_a_make_command_becomes_the_tools_own(text: str, installed: str) -> None:
    assert as_typed(text, in_checkout=False) == installed
    assert as_typed(text, in_checkout=True) == text

"""README.md and docs/: commands that parse, links that lead somewhere, references that are
complete.
"""

import re
import shlex
from pathlib import Path

import pytest

from sandbox.cli import command_options, registry
from sandbox.cli.command_options import options_of
from sandbox.cli.make_entry import CHECKS, arguments, refuse_unknown, take_environment
from sandbox.core.errors import ExitCode
from sandbox.core.paths import CHECKOUT
from sandbox.matrix.cell import Change
from sandbox.matrix.definition import Matrix
from sandbox.measure.run_checks import Condition
from sandbox.profile.grammar import parse
from sandbox.profile.reader import load_library

PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile("[…<>]")


def text_of(page: str) -> str:
    """A page of ``docs/``."""
    return (CHECKOUT / "docs" / page).read_text()


def make_commands() -> list[str]:
    """Every `make …` of every page: in shell blocks and, whole, in the text."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        lines = [
            line.split(" # ")[0].split("   #")[0] for block in blocks for line in block.splitlines()
        ]
        parts = [part.strip() for line in lines for part in re.split("&&|;|[|]", line)]
        found += [part for part in parts if part.startswith("make ")]
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        found += re.findall(r"`(make [^`]*)`", prose)
    return sorted(
        {
            part
            for each in found
            for part in map(str.strip, each.split("&&"))
            if not PLACEHOLDER.search(part)
        }
    )


@pytest.mark.parametrize("command", make_commands())
def test_a_documented_command_is_one(command: str) -> None:
    _, target, *words = shlex.split(command)
    variables = dict(word.split("=", 1) for word in words)
    if target in CHECKS:
        assert not variables
        return
    assert target in registry.COMMANDS.names()
    options = options_of(target)
    refuse_unknown(variables, options, [target])
    take_environment(variables)
    command_options.load(target).make_context(target, arguments(options, variables))
    if "PROFILE" in variables:
        plan_profile(variables["PROFILE"])


def sandbox_commands() -> list[str]:
    """Every `sandbox …` of every page, the same way."""
    found = set()
    for page in PAGES:
        blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        lines = [line.split(" # ")[0] for block in blocks for line in block.splitlines()]
        prose = re.findall(r"`(sandbox [^`]*)`", page.read_text())
        found |= {part.strip() for line in [*lines, *prose] for part in line.split("&&")}
    return sorted(
        part for part in found if part.startswith("sandbox ") and not PLACEHOLDER.search(part)
    )


@pytest.mark.parametrize("command", sandbox_commands())
def test_a_documented_command_of_the_tool_is_one(command: str) -> None:
    _, name, *words = shlex.split(command)
    if name != "--install-completion":
        command_options.load(name).make_context(name, words)


def plan_profile(profile: str) -> None:
    """Raises SandboxError for a profile with a term that there is none of."""
    words = load_library().words()
    assert {term.name for term in parse(profile)} <= set(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_what_the_code_cites_is_there() -> None:
    cited = set()
    for folder in ("scripts", "compose", "profiles", "tests"):
        for path in (CHECKOUT / folder).rglob("*"):
            if path.is_file() and path.suffix in (".py", ".sh", ".yaml", ".j2", ".lua"):
                for page, rules in re.findall(
                    r"docs/(\w+\.md)(?:,\s+rules? ([\d and,]+))?", path.read_text()
                ):
                    cited |= {(page, rule) for rule in re.findall(r"\d+", rules) or [""]}
    assert ("statistics.md", "12") in cited
    for page, rule in cited:
        assert not rule or re.search(rf"^#+ {rule}\. ", text_of(page), re.MULTILINE), (
            f"{page}, rule {rule}"
        )


def test_the_matrix_reference_has_every_key() -> None:
    documented = set(re.findall(r"`(\w+)`", text_of("matrices.md"))) | set(
        re.findall(r"^ *(?:- )?(\w+): ", text_of("matrices.md"), re.MULTILINE)
    )
    documented |= set(
        re.findall(r"\w+", " ".join(re.findall(r"# or: (\w+)", text_of("matrices.md"))))
    )
    keys = {*Matrix.model_fields, *Change.model_fields, *Condition.model_fields} - {
        "name",
        "command",
        "baseline_else",
        "scale",
    }
    assert keys <= documented


def test_the_grammar_has_every_term_and_every_other_name_of_one() -> None:
    words = set(re.findall(r"`([a-z-]+)[0-9]?`", text_of("profiles.md")))
    components = load_library().components
    assert {*components.names(), *components.aliases()} - {"client"} <= words


def test_the_exit_codes_are_those_of_the_commands() -> None:
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", text_of("design.md"), re.MULTILINE)}
    assert table == {int(code) for code in ExitCode}

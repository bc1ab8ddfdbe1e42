"""Plug-ins are the files and folders of a package: found without an import, imported one by one."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.plugins import plugins_of_classes, plugins_of_functions


class Drink:
    """What the files of the package below define."""


CLASS = "from made_up_drink import Drink\nclass {0}(Drink): pass\n"
FILES = {
    "__init__.py": "",
    "common/__init__.py": "",
    "black_coffee.py": CLASS.format("BlackCoffee") + "def pour(): return 'coffee'\n",
    "tea/__init__.py": CLASS.format("Tea") + "def pour(): return 'tea'\n",
    "nothing.py": "from made_up_bar.tea import Tea\n",
    "two.py": CLASS.format("One") + CLASS.format("Two"),
}
DRINKS = plugins_of_classes("made_up_bar", Drink, "order {}")
POURED = plugins_of_functions("made_up_bar", "drink", "pour", "order {}", separator="_")


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with plug-ins of both kinds, some of them broken."""
    folder = tmp_path / "made_up_bar"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    base = ModuleType("made_up_drink")
    monkeypatch.setattr(base, "Drink", Drink, raising=False)
    monkeypatch.setitem(sys.modules, "made_up_drink", base)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "made_up_bar"]:
        del sys.modules[name]


def imported() -> set[str]:
    """Modules of the package that have been imported."""
    modules = [name.removeprefix("made_up_bar.") for name in sys.modules if "made_up_bar." in name]
    return {*modules}


def test_names_are_those_of_files_and_folders_and_nothing_is_imported() -> None:
    assert DRINKS.names() == ["black-coffee", "nothing", "tea", "two"]
    assert POURED.names() == ["black_coffee", "nothing", "tea", "two"]
    assert imported() == set()


def test_only_what_is_asked_for_is_imported() -> None:
    assert DRINKS.named("black-coffee").__name__ == "BlackCoffee"
    assert imported() == {"black_coffee"}
    assert POURED.named("tea")() == "tea"
    assert imported() == {"black_coffee", "tea"}


def test_every_one_is_there_by_its_name(package: Path) -> None:
    (package / "nothing.py").unlink()
    (package / "two.py").unlink()
    assert [kind.__name__ for kind in DRINKS.every().values()] == ["BlackCoffee", "Tea"]
    assert [*POURED.every()] == ["black_coffee", "tea"]


def test_a_file_is_read_without_being_imported() -> None:
    assert DRINKS.source("black-coffee") == FILES["black_coffee.py"]
    assert imported() == set()


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(SandboxError) as refused:
        DRINKS.named("blck-coffee")
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert refused.value.lines() == [
        "there is no drink 'blck-coffee'",
        "did you mean 'black-coffee'?",
        "try: order <name>",
    ]


@pytest.mark.parametrize(("name", "number"), [("nothing", 0), ("two", 2)])
def test_a_file_without_exactly_one_class_is_an_internal_error(name: str, number: int) -> None:
    with pytest.raises(SandboxError) as refused:
        DRINKS.named(name)
    assert refused.value.exit_code is ExitCode.INTERNAL
    assert refused.value.lines() == [
        f"made_up_bar/{name}.py defines {number} drinks",
        "such a file defines one subclass of Drink",
        "try: make test-unit",
    ]
    with pytest.raises(SandboxError, match=r"/nothing.py defines 0 drinks"):
        DRINKS.every()


def test_a_file_without_the_function_is_an_internal_error() -> None:
    with pytest.raises(SandboxError, match=r"made_up_bar/two.py defines 0 drinks") as refused:
        POURED.named("two")
    assert refused.value.known == "such a file defines the function pour"

"""Every driver of images/drivers/: its declaration, what the image takes from it, its program."""

import re
import subprocess
from pathlib import Path

import pytest

from contract.stacks import CHECKOUT
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.measure.trial.drivers import (
    DRIVERS,
    HOST_LIST,
    NOT_PACKAGED,
    ONE,
    driver_asked,
    every_driver,
)

KNOWN = every_driver()
INTEGRATION = "".join(
    path.read_text() for path in (CHECKOUT / "tests" / "integration").glob("test_*.py")
)


def listed(name: str, key: str) -> list[str]:
    """A list of a declaration as the Dockerfile reads it."""
    script = rf"s/^{key}: \[(.*)\]$/\1/p"
    path = DRIVERS / name / "driver.yaml"
    done = subprocess.run(["sed", "-nE", script, path], capture_output=True, text=True, check=True)
    return [word for each in done.stdout.split(",") if (word := each.strip())]


def test_the_drivers_of_applications_are_there() -> None:
    expected = (
        "connector-j go-sql-driver php-pdo php-mysqli mysqlclient connector-python pymysql"
        " ruby-mysql2 node-mysql perl-dbd-mysql perl-dbd-mariadb"
    )
    assert set(expected.split()) <= set(KNOWN)
    assert {"sequential", "load-balance", "replication"} <= set(KNOWN["connector-j"].modes)


@pytest.mark.parametrize("name", KNOWN)
def test_its_lists_are_read_by_the_dockerfile(name: str) -> None:
    """It has no YAML."""
    spec = KNOWN[name]
    assert listed(name, "packages") == list(spec.packages)
    assert listed(name, "build_packages") == list(spec.build_packages)
    text = (DRIVERS / name / "driver.yaml").read_text()
    assert re.findall(r"^build: (.*)$", text, re.MULTILINE) == ([spec.build] if spec.build else [])


@pytest.mark.parametrize("name", KNOWN)
def test_it_has_help_and_modes_that_are_words(name: str) -> None:
    spec = KNOWN[name]
    assert re.fullmatch("[a-z][a-z0-9-]+", name)
    for text in (spec.help, *(mode.help for mode in spec.modes.values())):
        assert text and "\n" not in text
    assert ONE not in spec.modes and all(re.fullmatch("[a-z-]+", mode) for mode in spec.modes)


@pytest.mark.parametrize("name", KNOWN)
def test_its_program_is_in_its_folder(name: str) -> None:
    spec, folder = KNOWN[name], DRIVERS / name
    assert [path for path in folder.iterdir() if path.stem.lower() == "program"]
    assert spec.run[-1].startswith("program.") or spec.build


@pytest.mark.parametrize("name", KNOWN)
def test_a_mode_is_what_it_says(name: str) -> None:
    for mode in KNOWN[name].mode_names:
        assert str(driver_asked(f"{name}:{mode}")) == (name if mode == ONE else f"{name}:{mode}")
    if KNOWN[name].list_modes:
        assert driver_asked(name, HOST_LIST).takes_list


@pytest.mark.parametrize("name", KNOWN)
def test_it_meets_a_real_server_in_a_test(name: str) -> None:
    assert "every_driver()" in INTEGRATION or f'"{name}"' in INTEGRATION


@pytest.mark.parametrize("asked", [*NOT_PACKAGED, "pymysql:failover", "pymysql:host-list", "none"])
def test_what_there_is_not_is_refused_in_three_lines(asked: str) -> None:
    with pytest.raises(SandboxError) as refused:
        driver_asked(asked)
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3


def test_a_file_that_is_no_declaration_names_itself(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "driver.yaml").write_text("help: no program\n")
    with pytest.raises(SandboxError, match=r"odd/driver\.yaml is not a valid driver"):
        every_driver(tmp_path)

"""What is written can be read, and what is to be typed again survives the shell."""

import shlex

import pytest

from sandbox.record.metrics import METRICS
from sandbox.report.query_table import query_lines
from sandbox.report.text import WIDTH, duration, figure, make_command, shown, wrapped


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        (["/x/.venv/bin/sandbox", "bench"], "make bench"),
        (["sandbox", "bench", "--threads", "8", "--via=mysql1"], "make bench THREADS=8 VIA=mysql1"),
        (
            ["sandbox", "matrix", "--plan", "--only", "threads=1,4 x=y"],
            "make matrix PLAN=1 ONLY='threads=1,4 x=y'",
        ),
        (
            ["sandbox", "smoke", "--head-set", "a=1", "--head-set", "b=2", "--json"],
            "make smoke HEAD_SET='a=1 b=2' JSON=1",
        ),
    ],
)
def test_options_are_variables(command: list[str], typed: str) -> None:
    assert make_command(command) == typed


def test_what_was_drawn_is_added_and_what_was_given_stays() -> None:
    assert make_command(["sandbox", "bench"], {"SEED": "7"}) == "make bench SEED=7"
    assert make_command(["sandbox", "bench", "--seed=8"], {"SEED": "7"}) == "make bench SEED=8"


def test_a_value_survives_the_shell() -> None:
    value = "a='x y' b=\"$(touch z)\""
    assert shlex.split(make_command(["sandbox", "up", f"--set={value}"]))[2] == f"SET={value}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.43214, "0.4321"),
        (999.96, "1,000"),
        (1234.5, "1,234"),
        (12_345.6, "12,346"),
        (1e7, "10,000,000"),
    ],
)
def test_a_number_never_has_an_exponent_however_large(value: float, text: str) -> None:
    assert figure(value) == text and figure(-value) == f"-{text}"
    assert figure(value, "") == text.replace(",", "") and figure(value, sign="+") == f"+{text}"
    assert "e" not in figure(value, digits=3)


def test_a_large_effect_in_a_unit_has_no_exponent() -> None:
    assert shown(METRICS["reads_per_s"], 12_345.6) == "+12,346 1/s"


def test_durations_are_said_as_people_say_them() -> None:
    assert [duration(s) for s in (0.2, 45, 89.5, 600, 3900)] == [
        "1 s",
        "45 s",
        "90 s",
        "10 min",
        "1 h 5 min",
    ]


def test_no_line_breaks_at_a_hyphen() -> None:
    names = ["proxysql-rw-split"] * 20
    assert " ".join(" ".join(wrapped(", ".join(names), "head  ")).split()) == "head " + ", ".join(
        names
    )
    assert all(len(line) <= WIDTH for line in wrapped(", ".join(names), "head  "))
    values = query_lines(["a", "b"], [["x" * 60, ", ".join(names)]])
    assert all("proxysql-rw-split" in line for line in values[3:])

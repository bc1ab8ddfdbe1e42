"""The effective server variables: which layer wins, and how a value survives an option file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.plan.compose import node_context
from sandbox.plan.secrets import PLACEHOLDER
from sandbox.plan.variables import canonical, effective_variables, server_configuration
from unit.plan.small_library import plan


def variables(profile: str, node: str, *assignments: str) -> dict[str, str | None]:
    """Effective variables of a node."""
    planned = plan(profile, assignments=assignments)
    found = planned.node(node)
    return effective_variables(found, node_context(planned, found, PLACEHOLDER))


def test_one_variable_has_one_spelling() -> None:
    assert canonical("Max-Connections") == canonical("max_connections") == "max_connections"


def test_a_setting_overrides_the_component_and_set_overrides_both() -> None:
    assert variables("mysql@8.4", "mysql1")["max_connections"] == "500"
    assert variables("mysql@8.4+modern", "mysql1")["max_connections"] == "900"
    assert variables("mysql@8.4+modern", "mysql1", "Max-Connections=7")["max_connections"] == "7"


def test_templates_are_rendered_for_each_node() -> None:
    assert variables("mysql2", "mysql2")["server_id"] == "2"


def test_an_empty_value_leaves_the_line_out_and_set_may_still_set_it() -> None:
    assert "max_connections" not in variables("mysql+replica+late", "replica1")
    assert variables("mysql+replica+late", "replica1", "replica:max_connections=3")["max_connections"] == "3"
    assert variables("mysql", "mysql1", "init_connect=")["init_connect"] == ""


def test_plugins_to_load_add_up() -> None:
    assert variables("mysql+cloning", "mysql1")["plugin_load_add"] == "clone.so"
    assert variables("mysql+cloning+auditing", "mysql1")["plugin_load_add"] == "clone.so;audit.so"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "name"),
        ("x", "name = x"),
        ("mrr=on,x=off", "name = mrr=on,x=off"),
        ("a b", "name = a b"),
        ("", "name = "),
        (" x ", 'name = " x "'),
        ("a#b", 'name = "a#b"'),
        ("'x'", "name = \"'x'\""),
        ('say "x"', 'name = "say \\"x\\""'),
        (r"C:\temp", r'name = "C:\\temp"'),
    ],
)
def test_a_value_is_written_so_that_the_option_file_gives_it_back(value: str | None, line: str) -> None:
    assert server_configuration({"name": value}) == f"[mysqld]\n{line}\n"


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}


def read_back(line: str) -> str:
    """What a server makes of ``name = value``: trimmed, one pair of quotes removed, escapes undone (my_default.c)."""
    value = line.partition("=")[2].strip(" \t")
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    else:
        assert "#" not in value
    out, position = "", 0
    while position < len(value):
        if value[position] == "\\" and value[position + 1 : position + 2] in _ESCAPES:
            out += _ESCAPES[value[position + 1]]
            position += 2
        else:
            out += value[position]
            position += 1
    return out


@given(st.text(st.sampled_from("ab #;=,'\"\\nt$%\u00e4"), max_size=20))
def test_any_value_of_one_line_survives(value: str) -> None:
    assert read_back(server_configuration({"name": value}).splitlines()[1]) == value

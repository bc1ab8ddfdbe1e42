"""Variables: what is in effect on a node, and names that no server knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.core.errors import SandboxError
from sandbox.profile.names import canonical
from sandbox.profile.plan import UserFile
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import (
    effective_variables,
    names_in,
    refuse_mistyped,
    server_configuration,
)
from unit.profile.small_library import plan


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
    assert (
        variables("mysql+replica+late", "replica1", "replica:max_connections=3")["max_connections"]
        == "3"
    )
    assert variables("mysql", "mysql1", "init_connect=")["init_connect"] == ""


def test_plugins_to_load_add_up_each_once() -> None:
    assert variables("mysql+cloning", "mysql1")["plugin_load_add"] == "clone.so"
    assert variables("mysql+cloning+auditing", "mysql1")["plugin_load_add"] == "clone.so;audit.so"


PROVIDER = "evs.suspect_timeout=PT2S; gcs.fc_limit=16"


def test_a_list_of_keys_keeps_those_that_set_does_not_name() -> None:
    assert variables("cluster", "cluster1")["wsrep_provider_options"] == f"{PROVIDER}; "
    asked = "cluster2:wsrep_provider_options=gmcast.segment=1;gcs.fc_limit=64"
    assert variables("cluster", "cluster2", asked)["wsrep_provider_options"] == (
        "evs.suspect_timeout=PT2S; gcs.fc_limit=64; gmcast.segment=1"
    )
    assert variables("cluster", "cluster1", asked)["wsrep_provider_options"] == f"{PROVIDER}; "
    twice = ("optimizer_switch=mrr=on", "loose-optimizer_switch=mrr=off,mrr_sort_keys=on")
    found = variables("mysql", "mysql1", *twice)
    assert found["loose_optimizer_switch"] == "mrr=off,mrr_sort_keys=on"
    assert "optimizer_switch" not in found


@pytest.mark.parametrize("value", ["gmcast.segment", "gmcast.segment=", ";", "a=1;b"])
def test_a_piece_without_a_value_is_no_list_of_keys(value: str) -> None:
    with pytest.raises(SandboxError) as refused:
        plan("cluster", assignments=(f"'wsrep_provider_options={value}'",))
    assert refused.value.what.endswith("is not a list of key=value")


@pytest.mark.parametrize("names", [("loose_a", "A"), ("a", "loose-a"), ("loose_a", "loose_a")])
def test_loose_is_another_spelling_of_one_variable_whose_last_value_wins(
    names: tuple[str, str],
) -> None:
    first, second = names
    found = variables("mysql", "mysql1", f"{first}=1 {second}=2")
    assert found["loose_a"] == "2"
    assert "a" not in found


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
def test_a_value_is_written_so_that_the_option_file_gives_it_back(
    value: str | None, line: str
) -> None:
    assert server_configuration({"name": value}) == f"[mysqld]\n{line}\n"


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}


def read_back(line: str) -> str:
    """What a server makes of ``name = value``: trimmed, one pair of quotes removed, escapes undone
    (my_default.c).
    """
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


HELP = """mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))
Usage: mysqld [OPTIONS]

  -b, --basedir=name  Path to installation directory.
  --log-bin[=name]    Configures the name prefix to use for binary log files.

Variables (--variable-name=value)
and boolean options {FALSE|TRUE}                             Value (after reading options)
------------------------------------------------------------ -------------
innodb-buffer-pool-size                                      134217728
long-query-time                                              10
max-connections                                              151
name-resolve                                                 TRUE

To see what variables a running MySQL server is using, type
'SHOW VARIABLES;' in the mysql client.
"""
KNOWN = names_in(HELP)


def refuse(assignment: str) -> None:
    """Checks one assignment on a server whose image lists what HELP does."""
    made = plan("mysql", assignments=(assignment,))
    refuse_mistyped(made, {made.databases[0].image: KNOWN})


def test_options_and_variables_are_known_by_one_spelling() -> None:
    assert {"basedir", "log_bin", "innodb_buffer_pool_size", "max_connections"} <= KNOWN
    assert not {"to", "mysqld", "and"} & KNOWN


@pytest.mark.parametrize(
    "name",
    [
        "max_connections",
        "MAX-connections",
        "innodb_buffer_pool",
        "skip_name_resolve",
        "loose_max_conections",
        "rewriter_enabled",
        "validate_password.policy",
    ],
)
def test_what_the_server_takes_or_a_plugin_may_have_passes(name: str) -> None:
    refuse(f"{name}=1")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("innodb_bufer_pool_size", "innodb_buffer_pool_size"), ("max-conections", "max_connections")],
)
def test_a_mistyped_name_is_refused_with_the_one_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(SandboxError, match=f"has no variable '{name}'") as refused:
        refuse(f"{name}=1")
    assert f"did you mean '{meant}'?" in refused.value.known


def test_a_mistyped_name_in_the_users_file_is_refused_too() -> None:
    content = (
        "[client]\ninnodb_bufer_pool_size=1\n[mysqld]\n# a"
        " comment\nskip-name-resolve\nmax_conections = 5\n"
    )
    made = plan("mysql", cnf=UserFile("my.cnf", content, "0"))
    with pytest.raises(SandboxError, match=r"CNF: .* has no variable 'max_conections'"):
        refuse_mistyped(made, {made.databases[0].image: KNOWN})
    own_of_mariadb = plan("mysql", cnf=UserFile("my.cnf", "[mariadb]\nmax_conections=5\n", "0"))
    refuse_mistyped(own_of_mariadb, {own_of_mariadb.databases[0].image: KNOWN})


def test_an_image_that_could_not_be_asked_checks_nothing() -> None:
    refuse_mistyped(plan("mysql", assignments=("innodb_bufer_pool_size=1",)), {})

"""Names in SET= against what the image's server lists: a mistyped one is refused, what a plugin may have is not."""

import pytest

from sandbox.errors import SandboxError
from sandbox.plan.variable_names import names_in, refuse_mistyped
from unit.plan.small_library import plan

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
    ["max_connections", "MAX-connections", "innodb_buffer_pool", "skip_name_resolve", "loose_max_conections",
     "rewriter_enabled", "validate_password.policy"],
)  # fmt: skip
def test_what_the_server_takes_or_a_plugin_may_have_passes(name: str) -> None:
    refuse(f"{name}=1")


@pytest.mark.parametrize(
    ("name", "meant"), [("innodb_bufer_pool_size", "innodb_buffer_pool_size"), ("max-conections", "max_connections")]
)
def test_a_mistyped_name_is_refused_with_the_one_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(SandboxError, match=f"has no variable '{name}'") as refused:
        refuse(f"{name}=1")
    assert f"did you mean '{meant}'?" in refused.value.known


def test_an_image_that_could_not_be_asked_checks_nothing() -> None:
    refuse_mistyped(plan("mysql", assignments=("innodb_bufer_pool_size=1",)), {})

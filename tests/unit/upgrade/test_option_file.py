"""Option files: the lines for servers, and what two programs say of each."""

from sandbox.upgrade.option_file import FileOption, option_findings, options_in, said_of_options

FILE = """\
# ours
[client]
user = a
[mysqld]
innodb-defragment = 1   # old
skip-name-resolve
sql_mode = "ANSI,STRICT_ALL_TABLES"
[mariadb-10.11]
loose_plugin_thing=2
"""


def test_options_are_arguments_with_their_lines() -> None:
    found = options_in(FILE, "mariadb")
    assert [(each.line, each.argument, each.name) for each in found] == [
        (5, "--innodb-defragment=1", "innodb_defragment"),
        (6, "--skip-name-resolve", "skip_name_resolve"),
        (7, "--sql_mode=ANSI,STRICT_ALL_TABLES", "sql_mode"),
        (9, "--loose_plugin_thing=2", "plugin_thing"),
    ]
    assert [each.line for each in options_in(FILE, "mysql")] == [5, 6, 7]


def test_what_a_program_says_of_each() -> None:
    output = (
        "\x1e--a=1\n2026-11-30  9:00:00 0 [ERROR] mariadbd: unknown variable 'a=1'\n\x1f7\n"
        "\x1e--b\n2026-11-30  9:00:00 0 [Note] Plugin is fine\n\x1f0\n"
        "\x1e--c=2\n2026-11-30  9:00:00 0 [Warning] 'c' was removed. It does nothing now\n\x1f0\n"
    )
    assert said_of_options(output) == {
        "--a=1": (False, "unknown variable 'a=1'"),
        "--b": (True, ""),
        "--c=2": (True, "'c' was removed. It does nothing now"),
    }


def test_a_line_that_the_newer_server_refuses_matters() -> None:
    options = [
        FileOption(3, "a = 1", "--a=1"),
        FileOption(4, "b", "--b"),
        FileOption(5, "c", "--c"),
    ]
    old = {"--a=1": (True, ""), "--b": (True, ""), "--c": (False, "unknown")}
    new = {
        "--a=1": (False, "unknown variable"),
        "--b": (True, "deprecated"),
        "--c": (False, "unknown"),
    }
    refused, said = option_findings("my.cnf", options, old, new)
    assert (refused.query, refused.matters) == ("my.cnf:3: a = 1", True)
    assert refused.on_to == "refused: unknown variable"
    assert (said.query, said.matters, said.on_to) == ("my.cnf:4: b", False, "taken: deprecated")

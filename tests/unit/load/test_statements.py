"""A file of statements: units, weights, placeholders; what is wrong is reported with file and
line.
"""

import pytest

from sandbox.core.errors import SandboxError
from sandbox.load.statements import StatementUnit, parse_statements

FILE = """\
# what the shop does
-- weight 10
-- name look
SELECT c FROM sbtest1 WHERE id = ${random 1 1000};

-- weight: 2.5
BEGIN;
UPDATE sbtest1 SET k = k + 1 WHERE id = ${random 1 1000};  -- counted; with a semicolon
INSERT INTO log VALUES (NULL, 'it''s ; ${string 8}', "a\\"b;", ${thread});
COMMIT;
/* two on
   a line; */ SELECT 1; SELECT /*+ hint */ 2
"""


def units(text: str) -> dict[str, StatementUnit]:
    """By name."""
    return {unit.name: unit for unit in parse_statements(text, "mine.sql")}


def test_a_file_is_read() -> None:
    found = units(FILE)
    assert {
        name: (unit.weight, unit.line, len(unit.statements)) for name, unit in found.items()
    } == {
        "look": (10.0, 4, 1),
        "2_begin": (2.5, 7, 4),
        "3_select": (1.0, 12, 1),
        "4_select": (1.0, 12, 1),
    }
    assert found["look"].statements == [["SELECT c FROM sbtest1 WHERE id = ", ["random", 1, 1000]]]
    insert = found["2_begin"].statements[2]
    assert insert == [
        "INSERT INTO log VALUES (NULL, 'it''s ; ",
        ["string", 8],
        '\', "a\\"b;", ',
        ["thread"],
        ")",
    ]


def test_hints_and_versioned_comments_stay_where_a_server_reads_them() -> None:
    assert units("SELECT /*!80000 SQL_NO_CACHE */ 1;")["1_select"].statements == [
        ["SELECT /*!80000 SQL_NO_CACHE */ 1"]
    ]


def test_a_minus_is_no_comment() -> None:
    assert units("SELECT 5--3, 7 - 1;")["1_select"].statements == [["SELECT 5--3, 7 - 1"]]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "contains no statement"),
        ("-- only a comment\n", 1, "contains no statement"),
        ("SELECT 1;\n-- weight 3\n", 3, "-- weight has no statement after it"),
        ("\n-- weight lots\nSELECT 1;", 3, "-- weight lots: a weight is a number above 0"),
        ("-- weight 0\nSELECT 1;", 2, "-- weight 0: a weight is a number above 0"),
        ("-- weight inf\nSELECT 1;", 2, "above 0"),
        ("SELECT\n-- weight 3\n1;", 2, "is inside a statement"),
        ("SELECT 'open;\nSELECT 2;", 1, "the quote ' is not closed"),
        ("SELECT 1;\nSELECT ${randon 1 2};", 2, "did you mean 'random'?"),
        ("SELECT ${random 1};", 1, "use ${random <from> <to>}"),
        ("SELECT ${random 9 1};", 1, "use ${random <from> <to>}"),
        ("SELECT ${string x};", 1, "${string <length>}"),
        ("SELECT ${};", 1, "there is no ${}"),
        ("BEGIN;\nSELECT 1;\n", 1, "this BEGIN has no COMMIT"),
        ("SELECT 1;\nCOMMIT;", 2, "COMMIT has no BEGIN"),
        ("BEGIN;\nSTART TRANSACTION;\nCOMMIT;", 2, "before the COMMIT of the BEGIN in line 1"),
        ("BEGIN;\n-- weight 2\nSELECT 1;\nCOMMIT;", 3, "-- weight before the COMMIT"),
        ("DELIMITER //\nSELECT 1//", 1, "DELIMITER is a command"),
        ("-- name a\nSELECT 1;\n-- name a\nSELECT 2;", 4, "the name a is already used in line 2"),
        ("-- name a b\nSELECT 1;", 2, "a name has at most 64 letters"),
    ],
)
def test_what_is_wrong_is_reported_with_file_and_line(text: str, line: int, message: str) -> None:
    with pytest.raises(SandboxError) as refused:
        parse_statements(text, "mine.sql")
    assert refused.value.what == f"mine.sql:{line} is not valid", refused.value.known
    assert message in refused.value.known
    assert len(refused.value.lines()) == 3 and refused.value.exit_code == 2

"""Reports of pt-upgrade, as it prints them."""

from sandbox.upgrade.pt_upgrade import PtDifference, message, read_report

REPORT = """\

#-----------------------------------------------------------------------
# Logs
#-----------------------------------------------------------------------

File: replay.log
Size: 2190

#-----------------------------------------------------------------------
# Hosts
#-----------------------------------------------------------------------

host1:

  DSN:       h=mariadb1,P=3306
  hostname:  mariadb1
  MySQL:     Debian 12 10.11.19

########################################################################
# Query class 10E2F4D1B2C3A4B5
########################################################################

Reporting class because it has diffs, but hasn't been reported yet.

Total queries      1
Unique queries     1
Discarded queries  0

select * from row where a = ?

##
## Query errors diffs: 1
##

-- 1.

No error

vs.

DBD::mysql::st execute failed: You have an error in your SQL syntax; check the manual that \
corresponds to your MariaDB server version for the right syntax to use near 'row
where a = 1' at line 1 [for Statement "/*7*/ select * from row where a = 1"] at \
/usr/bin/pt-upgrade line 5724, <$fh> line 3.

/*7*/ select * from row where a = 1

########################################################################
# Query class 20E2F4D1B2C3A4B5
########################################################################

Reporting class because it has SQL errors.

Total queries      2
Unique queries     2
Discarded queries  0

select * from gone

##
## SQL errors: 2
##

-- 1.

On both hosts:

DBD::mysql::st execute failed: Table 'library.gone' doesn't exist at /usr/bin/pt-upgrade line 5724.

/*8*/ select * from gone

-- 2.

DBD::mysql::st execute failed: Unknown column 'a' in 'field list'

vs.

DBD::mysql::st execute failed: Unknown column 'a' in 'SELECT'

/*9*/ select a from gone

########################################################################
# Query class 30E2F4D1B2C3A4B5
########################################################################

Reporting class because there are 3 warning diffs.

Total queries      3
Unique queries     3
Discarded queries  0

select name from reader where street = ?

##
## Query time diffs: 1
##

-- 1.

0.000312 vs. 0.020001 seconds (64.1x increase)

/*10*/ select name from reader where street = 'a'

##
## Warning diffs: 1
##

-- 1.

   Code: 1265
  Level: Warning
Message: Data truncated for column 'name' at row 1

vs.

No warning 1265


No warning 1287

vs.

   Code: 1287
  Level: Warning
Message: 'x' is deprecated

/*11*/ insert into reader values (1)

##
## Row diffs: 2
##

-- 1.

@ first 2 of 2 missing rows
> Hauptstraße,1
> -- 2.

/*12*/ select name from reader where street = 'b'

-- 2.

@ row 1
< a,NULL
> b,NULL

/*13*/ select name from reader where street = 'c'

#-----------------------------------------------------------------------
# Stats
#-----------------------------------------------------------------------

failed_queries        2
queries_read          13
queries_with_diffs    3
queries_with_errors   1
"""


def test_every_kind_of_difference_is_read() -> None:
    report = read_report(REPORT)
    syntax = (
        "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB"
        " server version for the right syntax to use near 'row where a = 1' at line 1"
    )
    gone = "Table 'library.gone' doesn't exist"
    truncated = "Warning 1265: Data truncated for column 'name' at row 1"
    deprecated = "Warning 1287: 'x' is deprecated"
    assert report.differences == (
        PtDifference("error", 7, "no error", syntax),
        PtDifference("failed", 8, gone, gone),
        PtDifference(
            "failed", 9, "Unknown column 'a' in 'field list'", "Unknown column 'a' in 'SELECT'"
        ),
        PtDifference("time", 10, "0.3 ms", "20.0 ms", times_s=(0.000312, 0.020001)),
        PtDifference("warning", 11, truncated, "no warning", code=1265),
        PtDifference("warning", 11, "no warning", deprecated, code=1287),
        PtDifference("rows", 12, "no such row", "Hauptstraße,1; -- 2."),
        PtDifference("rows", 13, "a,NULL", "b,NULL"),
    )
    assert report.statistics == {
        "failed_queries": 2, "queries_read": 13, "queries_with_diffs": 3, "queries_with_errors": 1,
    }  # fmt: skip


def test_a_report_that_ends_early_has_no_statistics() -> None:
    report = read_report(REPORT.partition("## Row diffs")[0])
    assert len(report.differences) == 6
    assert report.statistics == {}


def test_statements_of_our_own_are_no_differences() -> None:
    assert read_report(REPORT.replace("/*7*/ ", "/*0*/ ")).differences[0].number == 8


def test_an_error_is_in_the_servers_words() -> None:
    said = (
        "DBD::mysql::st execute failed: Unknown system variable 'x' at /usr/bin/pt-upgrade line 1."
    )
    assert message(said) == "Unknown system variable 'x'"
    stripped = (
        "DBD::mysql::st execute failed: Unknown system variable 'x' [for Statement \"set x\"]"
    )
    assert message(stripped) == "Unknown system variable 'x'"
    assert message("No error") == message("") == "no error"

"""The script of a pack, carried out by bash with a client that answers from a file."""

import re
import subprocess
from pathlib import Path

import pytest

from unit.repro.pack.packing import FUNCTIONS, carried_out, in_bash

ALWAYS = """
answer() {
  case $2 in
    'select version()') echo 9.7.4 ;;
    'drop database'* | 'create table'*) echo 'ok 0' ;;
"""
GAP = """
steps:
  - s1 @mysql1: insert into t values (50)
    name: first
    blocks: 300ms
  - s2 @mysql1: insert into t values (60)
    name: second
    within: 5s
  - ends: s1
    affected: 1
expect:
  bug:
    - {result: first, blocked: true}
    - {result: second, error: [1205, 1213]}
  fixed:
    - {result: first, affected: 1}
    - {result: second, affected: 1}
"""
BLOCKS = (
    ALWAYS
    + """
    'insert into t values (50)')
      until [ -e "${0%/*}/go" ] || [ -e "$GO" ]; do sleep 0.02; done
      echo 'ok 1' ;;
    'insert into t values (60)') touch "$GO" && echo 'error 1213 Deadlock: found' ;;
  esac
}
"""
)


def test_sessions_wait_for_one_another(tmp_path: Path) -> None:
    done = carried_out(GAP, BLOCKS, tmp_path, GO=str(tmp_path / "go"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    lines = [re.sub(r"^ *\d+ ms +", "", line) for line in done.stdout.splitlines()]
    assert lines[:7] == [
        "mysql1 is 9.7.4",
        "1  s1@mysql1: insert into t values (50)",
        "still waits after 300ms",
        "2  s2@mysql1: insert into t values (60)",
        "error 1213: Deadlock: found",
        "3  ends: s1",
        "ok, 1 rows affected",
    ]
    assert lines[-1] == "reproduced: first waited; second: error 1213: Deadlock: found"


def test_one_that_is_fixed_ends_with_1(tmp_path: Path) -> None:
    answers = ALWAYS + "'insert'*) echo 'ok 1' ;; esac; }"
    text = GAP.replace("blocks: 300ms", "within: 3s").replace("  - ends: s1\n    affected: 1\n", "")
    done = carried_out(text, answers, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("fixed: first: ok, 1 rows affected")


@pytest.mark.parametrize(
    ("answers", "last"),
    [
        ("'insert'*) echo 'ok 1' ;; esac; }", "neither: first did not wait; second: ok, 1 rows"),
        ("'insert'*) echo gone ;; esac; }", "neither: first did not wait; second: error 2003"),
    ],
)
def test_what_is_neither_ends_with_3(answers: str, last: str, tmp_path: Path) -> None:
    text = GAP.replace("  - ends: s1\n    affected: 1\n", "")
    text = text.replace("{result: first, affected: 1}", "{result: first, affected: 7}")
    done = carried_out(text, ALWAYS + answers, tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert last in done.stdout.splitlines()[-1]


def test_a_step_without_a_name_must_go_as_it_says(tmp_path: Path) -> None:
    answers = ALWAYS + "'select 5') echo 6 ;; esac; }"
    done = carried_out("steps: [{s1: select 5, rows: 5}]", answers, tmp_path)
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "neither: step 1 did not go as it should: (6)"


def test_a_statement_for_a_session_that_still_waits(tmp_path: Path) -> None:
    text = GAP.replace("s2 @mysql1", "s1")
    done = carried_out(text, BLOCKS, tmp_path, GO=str(tmp_path / "go"))
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "unknown: step 2: s1 still waits for its statement"


def test_until_asks_again_and_all_asks_everywhere(tmp_path: Path) -> None:
    text = """
profile: mysql2
steps:
  - all: set global x = 1
  - until @mysql2: select n
    rows: 2
    within: 5s
expect:
  bug: [{query @mysql2: select 1, rows: [[1, null]]}]
  fixed: [{query: select 1, rows: []}]
"""
    answers = (
        ALWAYS
        + f"""
    'set global'*) echo "$1" >>{tmp_path}/asked; echo 'ok 0' ;;
    'select n') echo . >>{tmp_path}/n; grep -c . {tmp_path}/n ;;
    'select 1') printf '1\\tNULL\\n' ;;
  esac; }}"""
    )
    done = carried_out(text, answers, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted((tmp_path / "asked").read_text().split()) == ["mysql1", "mysql2"]
    assert "mysql2: (1 | NULL)" in done.stdout


def test_a_race_is_repeated_until_it_shows(tmp_path: Path) -> None:
    text = "repeat: 5\nsteps: [{s1: select 7}]"
    answers = (
        ALWAYS
        + f"""
    'select 7') echo 7 ;;
    'select 1') echo . >>{tmp_path}/n; [ "$(grep -c . {tmp_path}/n)" -ge 5 ] && echo 1 || echo 2 ;;
  esac; }}"""
    )
    done = carried_out(text, answers, tmp_path, REPEAT="5")
    assert done.returncode == 0, done.stdout
    verdicts = re.findall(r"^(\w+): mysql1", done.stdout, re.MULTILINE)
    assert verdicts == ["fixed", "fixed", "reproduced"]  # both sides ask, so two a repeat


def test_a_race_that_never_shows_is_fixed(tmp_path: Path) -> None:
    answers = ALWAYS + "'select 1') echo 2 ;; *) echo 'ok 0' ;; esac; }"
    done = carried_out("steps: [{s1: select 7}]", answers, tmp_path, REPEAT="3")
    assert done.returncode == 1
    assert done.stdout.count("fixed: mysql1: (2)") == 3


def test_a_replica_that_stops(tmp_path: Path) -> None:
    text = """
profile: mysql+replica1
steps: [{s1: delete from t}]
expect:
  bug: [{state @replica1: [stopped, broken], matches: '10\\d2', within: 2s}]
  fixed: [{state @replica1: well}]
"""
    answers = (
        ALWAYS
        + f"""
    'delete from t') touch {tmp_path}/stopped; echo 'ok 1' ;;
    'show tables'*) echo is_here ;;
    'show replica status')
      [ "$1" = replica1 ] || return 0
      printf '*** 1. row ***\\n  Source_Host: mysql1\\n  Replica_IO_Running: Yes\\n'
      if [ -e {tmp_path}/stopped ]; then
        printf '  Replica_SQL_Running: No\\n  Last_SQL_Errno: 1\\n  Last_SQL_Error: see worker 1\\n'
      else
        printf '  Replica_SQL_Running: Yes\\n  Seconds_Behind_Source: 0\\n  SQL_Delay: 0\\n'
      fi ;;
    *last_error_number*) printf '1032\\tno such row\\n' ;;
    *) echo 'ok 0' ;;
  esac; }}"""
    )
    done = carried_out(text, answers, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    last = "reproduced: replica1 is stopped (applier, error 1032: no such row)"
    assert done.stdout.splitlines()[-1] == last


CANNED = """
work=$(mktemp -d)
cat >"$work/s1.out" <<'EOF'
%s
EOF
hear s1 2
echo "$came_error/$came_affected/$came_warnings/$came_count/$came_ms/${lost[s1]-}"
printf '%%s' "$came_rows"
rm -rf "$work"
"""
ECHO = "--------------\nselect 1\n--------------\n\n"


@pytest.mark.parametrize(
    ("printed", "heard"),
    [
        (
            f"<begin 2 100>\n{ECHO}1\t2\n\nNULL\t\n3 rows in set\n\n<end 2 105>",
            "///3/5/\n1\t2\n\nNULL\t",
        ),
        (f"<begin 2 100>\n{ECHO}Empty set\n\n<end 2 101>", "///0/1/\n"),
        (
            f"<begin 2 100>\n{ECHO}Query OK, 2 rows affected\nRecords: 2\n\n<end 2 101>",
            "/2//0/1/\n",
        ),
        (
            f"<begin 2 100>\n{ECHO}Query OK, 1 row affected, 1 warning\n\n"
            "Warning (Code 1265): Data truncated\n<end 2 101>",
            "/1/1265/0/1/\n",
        ),
        # Of several results the last; what belongs to other statements.
        (
            "<begin 1 1>\nERROR 7 (HY000): Old\n<end 1 2>\n"
            f"<begin 2 100>\n{ECHO}1\n1 row in set\n\n7\n8\n"
            "2 rows in set\n\n<end 2 101>\n<begin 3 102>\n9\n",
            "///2/1/\n7\n8",
        ),
        # The client may print an error before the statement.
        (
            f"<begin 2 100>\nERROR 1213 (40001) at line 3: Deadlock: found\n{ECHO}<end 2 101>",
            "1213///0/1/\n",
        ),
        ("<begin 2 100>\nERROR 2013 (HY000) at line 3: Lost\n<end 2 101>", "2013///0/1/yes\n"),
    ],
)
def test_what_a_client_prints_is_understood(printed: str, heard: str) -> None:
    assert in_bash(CANNED % printed) == heard


@pytest.mark.parametrize(
    ("came", "wanted", "problem"),
    [
        ("came_error=1205 came_text=Lock", "", "error 1205: Lock"),
        ("came_error=1205 came_text=Lock", "error 1205", ""),
        ("came_error=1205 came_text=Lock", "error '1213 1205'", ""),
        ("came_error=1205 came_text=Lock", "error any", ""),
        ("came_error=1205 came_text=Lock", "error 120", "error 1205: Lock"),
        ("came_count=0", "error 1205", "no row"),
        ("came_count=1 came_rows=$'1\\tx'", "rows '1 | x'", ""),
        ("came_count=1 came_rows=$'1\\tx'", "rows '1 | y'", "(1 | x)"),
        ("came_count=2 came_rows=$'1\\n2'", "rows 2 1", "(1), (2)"),
        ("came_count=2 came_rows=$'1\\n2'", "rows_in_any_order 2 1", ""),
        ("came_count=1 came_rows=1", "rows", "(1)"),
        ("came_count=0", "rows", ""),
        ("came_count=1 came_rows=''", "rows ''", ""),
        ("came_count=0 came_rows=''", "rows ''", "no row"),
        ("came_count=4 came_rows=$'1\\n2\\n3\\n4'", "rows 1", "(1), (2), (3) and 1 more"),
        ("came_count=1 came_rows=$'a\\tb7'", "matches 'b[0-9]$'", ""),
        ("came_count=0", "matches '.*'", "no row"),
        ("came_count=0 came_affected=2", "affected 1", "2 rows affected"),
        ("came_affected=2 came_warnings='1 12'", "affected 2 warning 12", ""),
        ("came_affected=2 came_warnings='1 12'", "warning '12 2'", "without warning 2"),
    ],
)
def test_what_came_is_compared_with_what_is_wanted(came: str, wanted: str, problem: str) -> None:
    start = "came_error='' came_rows='' came_affected='' came_warnings='' came_count=0\n"
    assert in_bash(f'{start}{came}\ndiffers {wanted}\nprintf %s "$problem"') == problem


def state_in_bash(kind: str, printed: str) -> str:
    """The word for a server of a cluster of three; ``printed``: the arguments of printf."""
    ask = f"ask() {{ printf {printed}; }}\n"
    return in_bash(f'{ask}kind_of[g]={kind} detail_of[g]=3\nstate g\nprintf %s "$word"')


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("cluster_size 3 cluster_status Primary local_state 4", "synced"),
        ("cluster_size 2 cluster_status Primary local_state 4", "2 of 3 members"),
        ("cluster_status Primary local_state 1", "joiner"),
        ("cluster_status Primary local_state 2", "donor"),
        ("cluster_status non-Primary local_state 0", "non-primary"),
        ("cluster_status Disconnected local_state 5", "evicted"),
        ("local_state_comment Inconsistent cluster_status Disconnected", "evicted"),
        ("on OFF", "left"),
        ("cluster_size 3 cluster_status Primary local_state 4 ready OFF", "not ready"),
    ],
)
def test_the_state_of_a_galera_node(status: str, word: str) -> None:
    assert state_in_bash("galera", f"'wsrep_%s\\t%s\\n' {status}") == word


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("ONLINE 3 0", "ONLINE"),
        ("ONLINE 2 0", "2 of 3 members"),
        ("ONLINE 3 1", "2 of 3 members"),
        ("ONLINE 3 2", "blocked"),
        ("OFFLINE 0 0", "OFFLINE"),
        ("RECOVERING 3 0", "RECOVERING"),
    ],
)
def test_the_state_of_a_member_of_a_group(row: str, word: str) -> None:
    assert state_in_bash("group", f"'%s\\t%s\\t%s\\t\\n' {row}") == word


def test_a_server_where_nothing_listens_is_down() -> None:
    ask = 'ask() { echo "ERROR 2002 (HY000): Can\'t connect (115)"; return 1; }\n'
    state = 'kind_of[g]=galera detail_of[g]=3\nstate g\nprintf %s "$word"'
    for code, word in ((1, "down"), (124, "no answer")):
        assert in_bash(f"{ask}timeout() {{ return {code}; }}\n{state}") == word


def test_a_server_that_never_answers() -> None:
    script = (
        f"client=(none); servers=(a); . {FUNCTIONS}\n"
        "ask() { echo refused; return 1; }\nnow() { echo $((SECONDS * 400000)); }\nserver a\n"
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 3
    assert done.stdout.strip() == "unknown: a does not answer: refused (docker compose logs a)"


def test_a_crash_with_its_frames() -> None:
    log = r"""
        new_log() { printf 'mysqld got signal 11 ;\nbacktrace\n outer+0x1\n inner+0x2\n'; }
        met=no; expect_crash a 11 outer inner; echo "$met"
        met=no; expect_crash a 11 inner outer; echo "$met"
        met=no; expect_crash a 6; echo "$met"
        met=no; expect_crash a any; echo "$met ($seen)"
    """
    assert in_bash(log) == "yes\nno\nno\nyes (a: mysqld got signal 11 ;)\n"


def test_times_and_their_ratio() -> None:
    kept = "".join(
        f"came_ms={ms} came_count=0 came_ended=yes came_error= came_text= came_rows= came_affected="
        f" came_warnings= came_blocked=\nkeep {name}\n"
        for name, ms in (("slow", 300), ("quick", 100))
    )
    looks = (
        "for one in 'time slow at_least 300 at_most 300' 'time slow at_most 299'"
        " 'ratio slow quick at_least 300' 'ratio slow quick at_most 299' 'time never at_most 1'; do"
        '\nmet=no; expect_${one%% *} ${one#* }; echo "$met"\ndone'
    )
    assert in_bash(kept + looks).split() == ["yes", "no", "yes", "no", "unknown"]

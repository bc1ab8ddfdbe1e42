"""The Compose file of a pack: what stands in it, and what has no place there."""

import subprocess

import pytest
import yaml

from sandbox.profile.templates import PLACEHOLDER
from sandbox.repro.file import read_repro, repro_names
from sandbox.repro.pack.document import LONGEST_DUMP, packed
from sandbox.repro.pack.pattern import extended
from sandbox.repro.pack.quoting import length, statements_apart, word
from sandbox.repro.pack.refusal import UnpackableError, UnsayableError
from sandbox.repro.pack.unpackable import refuse_unpublished
from unit.repro.pack.packing import content, pack_of, plan_of, repro_of, steps_of


def text_of(text: str) -> str:
    """The Compose file of a made-up repro."""
    repro = repro_of(text)
    return packed(repro, plan_of(repro), PLACEHOLDER)


@pytest.mark.parametrize("name", repro_names())
def test_a_repro_that_ships_is_packed_or_refused_with_a_reason(name: str) -> None:
    repro = read_repro(name)
    plan = plan_of(repro)
    try:
        text = packed(repro, plan, PLACEHOLDER)
    except UnpackableError as problem:
        assert all(each.place and each.why for each in problem.parts)
        return
    pack = yaml.safe_load(text)
    assert {*pack["services"]} == {*(node.name for node in plan.databases), "repro"}
    assert len(text.splitlines()) < 650
    for script in [name for name in pack["configs"] if name.endswith(".sh")]:
        checked = subprocess.run(
            ["bash", "-n"], input=content(pack, script), text=True, capture_output=True, check=False
        )
        assert checked.returncode == 0, f"{script}: {checked.stderr}"


def test_nothing_of_ours_is_in_it() -> None:
    text = text_of("steps: [{s1: begin}]")
    pack = yaml.safe_load(text)
    assert pack["services"]["repro"]["image"] == pack["services"]["mysql1"]["image"]
    assert pack["services"]["repro"]["image"].startswith("mysql:9.7")
    assert pack["services"]["repro"]["depends_on"] == ["mysql1"]
    assert not {"ports", "volumes", "networks"} & {*pack, *pack["services"]["mysql1"]}
    assert "sandbox" not in text


def test_the_password_stands_in_files_alone() -> None:
    pack = pack_of(repro_of("profile: mysql+replica1\nsteps: [{s1: begin}]"))
    assert PLACEHOLDER.root not in yaml.safe_dump(pack["services"])
    assert PLACEHOLDER.root not in content(pack, "steps.sh")
    assert "password = placeholder-root" in content(pack, "client.cnf")


def test_dollars_reach_the_shell() -> None:
    text = text_of("steps: [{s1: 'select \"$x\", `a`'}]")
    assert "sql 1 s1@mysql1 'select \"$$x\", `a`'" in text
    assert '"$${input_of[$$1]}"' in text


def test_steps_are_lines() -> None:
    text = """
profile: mysql+replica1
steps:
  - s1 @replica1: begin
  - s1: insert into t values ('x')
    affected: 1
    warning: [1265, 1366]
  - s2: select 1
    name: it's one
    blocks: true
  - s3 @reader: "select a,\\n  b from t"
    unordered: true
    rows: [[1, null], [2, "a\\tb"]]
    within: 1500ms
  - ends: s2
    error: any
  - until @writer: select 1
    matches: '^\\d+$'
  - s1: select 1
    prepared: true
    error: [1, 2]
  - all: set global x = 1
  - wait: 200ms
  - restart: replica1
expect:
  bug:
    - {result: it's one, blocked: true}
    - {result: it's one, error: 1205}
    - {query: select 1, rows: 1, within: 5s}
    - {state @replica1: well}
  fixed:
    - {result: it's one, blocked: false}
    - {explain: select 1, contains: Using index}
    - {time: it's one, at_most: 2s}
    - {time: it's one, against: it's one, at_least: 1.5}
    - {hang: it's one}
"""
    assert steps_of(text) == [
        "sql 1 s1@replica1 begin",
        """sql 2 s1 "insert into t values ('x')" affected 1 warning '1265 1366'""",
        """sql 3 s2@mysql1 'select 1' as "it's one" waits 500ms""",
        "sql 4 s3@replica1 'select a,",
        "  b from t' within 1500ms rows_in_any_order '1 | NULL' '2 | a\\tb'",
        "ends 5 s2 within 30s error any",
        "ask_until 6 mysql1 30s 'select 1' matches '^[0-9]+$'",
        """sql 7 s1 "prepare repro from 'select 1'; execute repro" error '1 2'""",
        "all 8 'set global x = 1'",
        "pause 9 200ms",
        "restart 10 replica1 120s",
        """bug   result "it's one" blocked""",
        """bug   result "it's one" error 1205""",
        "bug   query mysql1 within 5s 'select 1' rows 1",
        "bug   state replica1 replicating running",
        """fixed result "it's one" not_blocked""",
        "fixed explain mysql1 'select 1' 'Using index'",
        """fixed time "it's one" at_most 2000""",
        """fixed ratio "it's one" "it's one" at_least 150""",
        """fixed hang "it's one\"""",
    ]


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("steps: [{s1: begin}, {break: server-crash}]", ("steps", 1), "cannot break the network"),
        ("steps: [{s1: begin}, {heal: all}]", ("steps", 1), "nothing is broken"),
        ("steps: [{act: switchover}]", ("steps", 0), "a program of this tool"),
        ("steps: [{workload: writers for 5s}]", ("steps", 0), "a program of this tool"),
        ("steps: [{shell: ls}]", ("steps", 0), "for the client of a stack"),
        ("steps: [{s1 @haproxy1: begin}]", ("steps", 0), "@haproxy1 is no server (mysql1)"),
        ("steps: [{s1 @reader: begin}]", ("steps", 0), "no server of mysql is one"),
        ("profile: galera3\nsteps: [{restart: galera2}]", ("steps", 0), "must know the others"),
        ("steps: [{restart: writer}]", ("steps", 0), "writer is not the name of a server"),
        ("steps: [{wait: 1s, name: a}]", ("steps", 0), "no result"),
        ("steps: [{s1: begin, matches: '(?<=a)b'}]", ("steps", 0), "does not know (?<"),
        ("profile: galera3+haproxy\nsteps: [{s1: begin}]", ("profile",), "is none (proxy)"),
        ("profile: pxc3\nsteps: [{s1: begin}]", ("profile",), "certificates"),
        ("profile: mysql+mariadb\nsteps: [{s1: begin}]", ("profile",), "does not know both"),
        ("disk: ext4:4g\nsteps: [{s1: begin}]", ("disk",), "no disks"),
    ],
)
def test_what_cannot_be_said_is_refused(text: str, place: tuple[str, ...], why: str) -> None:
    with pytest.raises(UnpackableError) as refused:
        pack_of(repro_of(text))
    assert refused.value.parts[0].place == place
    assert why in refused.value.parts[0].why


@pytest.mark.parametrize(
    ("expectation", "why"),
    [
        ("{hang: a, waits_for: s2}", "who waits for whom"),
        ("{state: detached}", "does not know whether it is detached"),
        ("{log: 'connection {s1}'}", "the server's number of a session"),
        ("{log: '\\Aa'}", "grep -E does not know"),
    ],
)
def test_expectations_that_cannot_be_said(expectation: str, why: str) -> None:
    expect = f"expect: {{bug: [{expectation}], fixed: [{{hang: a}}]}}"
    with pytest.raises(UnpackableError) as refused:
        pack_of(repro_of(f"steps: [{{s1: begin, name: a}}]\n{expect}"))
    assert refused.value.parts[0].place == ("expect", "bug", 0)
    assert why in refused.value.parts[0].why


def test_all_that_cannot_be_said_is_named() -> None:
    text = "steps: [{break: server-crash}, {s1: begin}, {act: switchover}]"
    with pytest.raises(UnpackableError) as refused:
        pack_of(repro_of(text))
    assert [each.place for each in refused.value.parts] == [("steps", 0), ("steps", 2)]


def test_an_image_of_ones_own_is_for_this_engine_alone() -> None:
    with pytest.raises(UnpackableError, match="in no registry that others have"):
        refuse_unpublished(repro_of("image: mysql=my:1\nsteps: [{s1: begin}]"))


def test_data_and_dumps() -> None:
    text = """
load:
  sql: create table t (a int, b text); insert into t values (1, 'x; y')
  rows: {t: {count: 2500, values: "{n}, 'a'"}}
steps: [{s1: begin}]
"""
    pack = pack_of(repro_of(text), "insert into t values (9, '$x');\n")
    steps = content(pack, "steps.sh")
    assert "create table t (a int, b text);\ninsert into t values (1, 'x; y')\nSQL\n" in steps
    assert "generate mysql1 t 2500 \"{n}, 'a'\"" in steps
    assert content(pack, "dump.sql") == "insert into t values (9, '$x');\n"
    assert "dump.sql" in pack["services"]["repro"]["configs"]
    with pytest.raises(UnpackableError, match="at most"):
        pack_of(repro_of(text), "x" * (LONGEST_DUMP + 1))


def test_logs_are_shared_where_something_looks_at_them() -> None:
    text = "steps: [{s1: begin}]\nexpect: {bug: [{log: Abo}], fixed: [{log: Abo, absent: true}]}"
    pack = pack_of(repro_of(text))
    assert pack["services"]["mysql1"]["volumes"] == ["logs:/logs"]
    assert pack["services"]["repro"]["volumes"] == ["logs:/logs:ro"]
    assert 'tee "/logs/$HOSTNAME.log"' in content(pack, "server.sh")
    steps = content(pack, "steps.sh").splitlines()
    assert "mark_logs" in steps
    assert steps[-3:] == ["bug   log mysql1 Abo", "fixed log mysql1 absent Abo", "verdict"]


def test_a_cluster_forms_one_after_the_other() -> None:
    pack = pack_of(repro_of("profile: galera3\nsteps: [{s1: begin}]"))
    assert "for member in galera1 galera2 galera3; do" in content(pack, "galera.sh")
    assert "environment" in pack["x-server"] and "environment" in pack["services"]["galera2"]
    assert "wsrep_notify_cmd" not in content(pack, "server.cnf")
    assert "--wsrep-node-name=galera2" in pack["services"]["galera2"]["command"]
    assert content(pack, "sst.cnf") == "[mariadbd]\nwsrep_sst_auth = root:placeholder-root\n"


def test_repeats_of_a_race() -> None:
    pack = pack_of(repro_of("repeat: 20\nsteps: [{s1: begin}]"))
    assert pack["services"]["repro"]["environment"] == {"REPEAT": "20"}
    fresh = pack_of(repro_of("repeat: 20\nfresh: true\nsteps: [{s1: begin}]"))
    assert "environment" not in fresh["services"]["repro"]
    replica = pack_of(repro_of("profile: mysql+replica1\nrepeat: 9\nsteps: [{s1: begin}]"))
    steps = content(replica, "steps.sh")
    assert "if ((${RUN:-1} == 1)); then\npassword=$(</root-password)\nsetup mysql1" in steps


def test_only_the_functions_that_are_needed() -> None:
    functions = content(pack_of(repro_of("steps: [{s1: begin}]")), "functions.sh")
    assert "sql() {" in functions and "differs() {" in functions
    assert "state_of_galera" not in functions and "restart() {" not in functions
    whole = content(pack_of(repro_of("profile: galera3\nsteps: [{s1: begin}]")), "functions.sh")
    assert "state_of_galera() {" in whole and "state_of_group" not in whole


@pytest.mark.parametrize(
    ("pattern", "as_grep_has_it"),
    [
        ("1032", "1032"),
        (r"a\d+\s*\w", "a[0-9]+[[:space:]]*[[:alnum:]_]"),
        (r"\Wx\D", "[^[:alnum:]_]x[^0-9]"),
        (r"(?:a|b)+?c", "(a|b)+c"),
        (r"[\w.-]+\.log", r"[[:alnum:]_.-]+\.log"),
        (r"[^\]a]", "[^]a]"),
        (r"a\tb", "a\tb"),
        (r"x{2,3}$", "x{2,3}$"),
        (r"\(x\)", r"\(x\)"),
    ],
)
def test_a_pattern_in_the_words_of_grep(pattern: str, as_grep_has_it: str) -> None:
    assert extended(pattern) == as_grep_has_it


@pytest.mark.parametrize("pattern", ["(?i)a", "a(?=b)", r"(a)\1", "a++", r"\Aa", "(?P<a>b)"])
def test_a_pattern_that_grep_has_no_word_for(pattern: str) -> None:
    with pytest.raises(UnsayableError):
        extended(pattern)


def test_words_and_lengths() -> None:
    assert word("a@b:1") == "a@b:1"
    assert word("it's") == '"it\'s"'
    assert word("a b") == "'a b'"
    assert (length(5), length(0.5), length(90)) == ("5s", "500ms", "90s")
    assert statements_apart("a; b -- c; d") == "a; b -- c; d"
    assert statements_apart("a ';  ' ;  b") == "a ';  ' ;\nb"

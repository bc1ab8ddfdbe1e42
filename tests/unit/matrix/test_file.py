"""Matrix files on disk: found by name or path, and what is wrong reported with file and line."""

from pathlib import Path

import pytest

from sandbox.core.errors import SandboxError
from sandbox.matrix.file import matrix_path, read_matrix
from sandbox.matrix.loads import cells_of_file
from sandbox.matrix.selection import select

GOOD = """\
title: T
question: Q?
common: {profile: mysql}
factors:
  commits:
    relaxed: {}
    durable: {add: durable}
  threads: [1, 4]
baseline: {commits: relaxed}
"""


def write(tmp_path: Path, text: str) -> Path:
    """A matrix file."""
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return path


def test_a_matrix_is_found_by_its_name_or_any_path(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert matrix_path("mine", [tmp_path]) == matrix_path(str(path)) == path
    assert read_matrix(path).name == "mine"


@pytest.mark.parametrize(
    ("word", "known"), [("mien", "did you mean 'mine'?"), (None, "known: mine")]
)
def test_a_name_that_there_is_none_of_is_refused(
    tmp_path: Path, word: str | None, known: str
) -> None:
    write(tmp_path, GOOD)
    with pytest.raises(SandboxError) as refused:
        matrix_path(word, [tmp_path])
    assert refused.value.known == known


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "  threads: [1, 4]",
            "  thraeds: [1, 4]",
            8,
            "there is no such key in a level; did you mean 'threads'?",
        ),
        (
            "    durable: {add: durable}",
            "    durable:\n      colour: red",
            8,
            "there is no such key",
        ),
        ("{commits: relaxed}", "{commits: lax}", 9, "no level 'lax'; it has relaxed, durable"),
        ("question: Q?", "", 1, "question: field required"),
        ("title: T", "title: T\nspeed: 3", 2, "speed: there is no such key at the top level; "),
        ("  threads: [1, 4]", "  threads: [1, nought]", 8, "a whole number is expected"),
        ("title: T", "title: [", 2, "expected"),
        ("title: T", "title: T\nblocks: 201", 2, "blocks: at most 200 is expected"),
        (
            "title: T",
            "title: T\nexclude:\n  - commits: durable\n  - {thread: 1}",
            4,
            "there is no factor 'thread'",
        ),
        ("    relaxed: {}", "    durable: {}", 7, "the key 'durable' appears twice"),
        ("[1, 4]", "[1, 4, 1]", 8, "factor threads has the level '1' twice"),
        (
            "title: T",
            "title: T\nmetrics:\n  - tps\n  - latency_p95",
            4,
            "did you mean 'latency_p95_ms'?",
        ),
        (
            "title: T",
            "title: T\npublished:\n  statements:\n  - {metric: tsp, value: {between: [1, 2]}}",
            4,
            "no metric 'tsp'; did you",
        ),
        (
            "title: T",
            "title: T\npublished:\n  statements:\n  - metric: tps\n"
            "    value: {between: [1, 2], becuase: x}",
            5,
            "mean 'because'?",
        ),
        (
            "title: T",
            "title: T\npublished:\n  statements:\n"
            "  - {metric: tps, says: x, compare: {this: {}, against: {}, ratoi: 2}}",
            4,
            "mean 'ratio'?",
        ),
        (
            "title: T",
            "title: T\npublished:\n  statements:\n"
            "  - {metric: errors, says: x, compare: {this: {threads: 1}, against: {threads: 4},"
            " ratio: 2}}",
            4,
            "errors can be zero, and has no ratio; say order: instead",
        ),
        (
            "title: T",
            "title: T\npublished:\n  statements:\n"
            "  - {metric: latency_p95_ms, says: x, knee: {over: threads, at: 4}}",
            4,
            "latency_p95_ms has no knee",
        ),
        (
            "title: T",
            "title: T\nscales:\n  server: {levels: {thread: 1..4}}",
            3,
            "scales: server: LEVELS: the matrix mine has no factor 'thread'",
        ),
        (
            "title: T",
            "title: T\nscales:\n  laptop: {seconds: 4}",
            3,
            "laptop is the scale of the file itself",
        ),
        (
            "title: T",
            "title: T\nscales:\n  server: {secnds: 4}",
            3,
            "did you mean 'seconds'?",
        ),
        (
            "  threads: [1, 4]",
            "  load: [idle, loaded]",
            8,
            "load applies only to trials; no cell here has faults",
        ),
        (
            "    durable: {add: durable}",
            "    durable:\n      target: proxy",
            8,
            "target applies only to trials; no",
        ),
        ("title: T", "title: T\nmetrics: [qps, tps, qps]", 2, "metrics: 'qps': it appears twice"),
        (
            "  threads: [1, 4]",
            "  set:\n    - a=-1\n    - b=1\n    - a=1",
            11,
            "'a=-1' and 'a=1' would share a folder",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SandboxError) as refused:
        read_matrix(path)
    assert refused.value.what == f"{path}:{line} is not a valid matrix", refused.value.known
    assert message in refused.value.known
    assert len(refused.value.lines()) == 3 and refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "known"),
    [
        ("add: durable", "add: durabel", 7, "unknown term 'durabel'", "did you mean 'durable'?"),
        (
            "add: durable",
            "add: durable@9.7",
            7,
            "'durable' takes no count and no version",
            "only a component does",
        ),
        (
            "durable: {add: durable}",
            "durable:\n      add: [durable, pmm2]",
            8,
            "'pmm' takes no count",
            "one of it",
        ),
        (
            "profile: mysql",
            "profile: mysql@9.77",
            3,
            "no series for version '9.77'",
            "did you mean '9.7'?",
        ),
        (
            "profile: mysql",
            "profile: 'mysql+'",
            3,
            "'' in 'mysql+' is not a term",
            "a term is name",
        ),
        (
            "{profile: mysql}",
            "\n  profile: mysql\n  set: a",
            5,
            "'a' is not an assignment",
            "name=value",
        ),
        (
            "{profile: mysql}",
            "{profile: mysql, set: 'msyql:a=1'}",
            3,
            "names no component",
            "did you mean 'mysql'?",
        ),
        (
            "{add: durable}",
            "{cnf: 'mysql:/no/such.cnf'}",
            7,
            "CNF=/no/such.cnf cannot be read",
            "No such file",
        ),
        (
            "{add: durable}",
            "{binary: mysql=/no/such.tar.xz}",
            7,
            "BINARY: /no/such.tar.xz is not there",
            "a folder, or a file .tar",
        ),
    ],
)
def test_a_word_that_there_is_none_of_is_refused_and_no_reason_to_skip(
    tmp_path: Path, old: str, new: str, line: int, message: str, known: str
) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SandboxError) as refused:
        read_matrix(path)
    assert refused.value.what.startswith(f"{path}:{line}: ") and message in refused.value.what
    assert known in refused.value.known and refused.value.exit_code == 2
    assert (
        refused.value.next_step
        == f"try: make matrix MATRIX={path} PLAN=1   (after fixing the file)"
    )


def test_configuration_files_of_levels_add_up_and_need_stacks_of_their_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.cnf").write_text(f"[mysqld]\nport = {len(name)}\n")
    common = f"{{profile: mysql, cnf: '{tmp_path}/one.cnf'}}"
    text = GOOD.replace("{profile: mysql}", common)
    text = text.replace("{add: durable}", f"{{cnf: 'mysql1:{tmp_path}/two.cnf'}}")
    cells = [*read_matrix(write(tmp_path, text)).all_cells()]
    assert len({cell.stack_key for cell in cells}) == 2
    requests = {cell.levels["commits"]: cell.plan_request for cell in cells}
    for request in requests.values():
        assert request.cnf is not None and request.cnf.name == "one.cnf"
    assert requests["relaxed"].own_files == ()
    assert [each.place for each in requests["durable"].own_files] == ["mysql1"]


def test_known_words_that_cannot_stand_together_are_no_mistake_in_the_file(tmp_path: Path) -> None:
    text = GOOD.replace(
        "add: durable", "add: [maxscale, replica2@8.4], set: 'replica1:a=1 mysql2:b=2'"
    )
    assert len(list(read_matrix(write(tmp_path, text)).all_cells())) == 4


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "  threads: [1, 4]",
            "  dist:\n    - uniform\n    - zipfain",
            10,
            "DIST=zipfain is not a valid key distribution",
        ),
        ("  threads: [1, 4]", "  threads: [1, 20000]", 8, "THREADS=20000 is not valid"),
        ("add: durable", "cpus: abc", 7, "CPUS=abc is not a number of CPUs"),
        ("add: durable", "cpuset: 0-", 7, "cpuset: '0-' is not a valid list of CPUs"),
        (
            "{add: durable}",
            "\n      add: proxysql\n      via: proxysq",
            9,
            "via: 'proxysq' is not a node or term",
        ),
        (
            "{profile: mysql}",
            "\n  profile: mysql\n  via: reader",
            5,
            "via: 'reader' is not a node or term",
        ),
        (
            "{profile: mysql}",
            "\n  profile: mysql\n  workload: tpc",
            5,
            "there is no workload 'tpc'",
        ),
        (
            "{profile: mysql}",
            "\n  options: {warehous: 2}\n  profile: mysql\n  workload: tpcc",
            4,
            "OPTIONS: this workload has no option 'warehous'",
        ),
        (
            "{add: durable}",
            "{workload: noop, options: {a: 2}}",
            7,
            "OPTIONS: this workload has no option 'a'",
        ),
        (
            "  threads: [1, 4]",
            "  rows: [10, 20]\n  workload: [noop]",
            8,
            "no workload of this matrix uses rows, which the factor rows changes",
        ),
    ],
)
def test_a_load_that_there_is_none_of_is_reported_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SandboxError) as refused:
        cells_of_file(select(read_matrix(path)), path)
    assert refused.value.what.startswith(f"{path}:{line}: {message}")
    assert (
        refused.value.next_step
        == f"try: make matrix MATRIX={path} PLAN=1   (after fixing the file)"
    )
    assert refused.value.exit_code == 2


def test_a_file_that_is_not_there_or_no_mapping_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot be read"):
        read_matrix(tmp_path / "no.yaml")
    with pytest.raises(SandboxError, match=":1 is not a valid matrix"):
        read_matrix(write(tmp_path, "- a\n"))


def test_a_load_beside_faults_is_no_mistake(tmp_path: Path) -> None:
    factors = "  fault:\n    none: {}\n    crash: {faults: hang}\n  load: [idle, loaded]"
    text = GOOD.replace("  threads: [1, 4]", factors).replace(
        "title: T", "title: T\ndepth: restart"
    )
    assert read_matrix(write(tmp_path, text)).factors["load"]

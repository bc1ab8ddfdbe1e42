"""Matrix files: what they may say, the cells they make, and what of them is run."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from sandbox.core.errors import SandboxError
from sandbox.matrix.cell import Cell
from sandbox.matrix.definition import Matrix
from sandbox.matrix.selection import comparisons_of, select
from sandbox.measure.bench import BenchRequest
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.scenario import FaultProfile, Scenario
from sandbox.measure.trial.schedule import Step
from sandbox.profile.plan import UserFile
from unit.matrix.resolved import no_load, resolved

REWRITE: dict[str, Any] = {
    "name": "rewrite",
    "title": "Query Rewrite off and on",
    "question": "What does it cost?",
    "common": {"profile": "mysql@9.7", "workload": "oltp_read_only", "set": "max_connections=500"},
    "factors": {"rewriter": {False: None, True: {"add": "rewriter"}}, "threads": [1, 16, 64]},
    "baseline": {"rewriter": False},
}


def matrix(**changes: Any) -> Matrix:
    """The example, with something changed."""
    return Matrix.model_validate({**REWRITE, **changes})


def test_cells_are_all_combinations_in_the_order_of_the_file() -> None:
    cells = list(matrix().all_cells())
    assert [cell.name for cell in cells] == [
        "rewriter-off.threads-1", "rewriter-off.threads-16", "rewriter-off.threads-64",
        "rewriter-on.threads-1", "rewriter-on.threads-16", "rewriter-on.threads-64",
    ]  # fmt: skip
    assert [cell.change.expression for cell in cells] == ["mysql@9.7"] * 3 + [
        "mysql@9.7+rewriter"
    ] * 3
    assert [cell.change.threads for cell in cells[:3]] == [1, 16, 64]


def test_what_needs_no_restart_shares_a_stack() -> None:
    cells = list(matrix().all_cells())
    assert len({cell.stack_key for cell in cells}) == 2


def test_lists_add_up_and_the_rest_replaces() -> None:
    levels = {
        "a": {},
        "b": {"profile": "mariadb", "set": ["sync_binlog=0"], "isolation": "READ-COMMITTED"},
    }
    cell = list(matrix(factors={"x": levels}, baseline={"x": "a"}).all_cells())[1]
    assert cell.change.expression == "mariadb"
    assert cell.assignments == (
        "max_connections=500",
        "sync_binlog=0",
        "transaction_isolation=READ-COMMITTED",
    )


def test_any_option_of_a_workload_is_a_factor() -> None:
    made = matrix(
        common={
            "profile": "mysql",
            "workload": "tpcc",
            "options": {"items": 1000, "warehouses": 9},
        },
        factors={"option.warehouses": [1, 10], "x": {"a": {}, "b": {"options": {"items": 50}}}},
        baseline={"x": "a"},
    )
    cells = list(made.all_cells())
    assert [cell.name for cell in cells][:2] == [
        "option-warehouses-1.x-a",
        "option-warehouses-1.x-b",
    ]
    assert [cell.change.options for cell in cells[1:3]] == [
        {"items": 50, "warehouses": 1},
        {"items": 1000, "warehouses": 10},
    ]
    assert (
        len({cell.stack_key for cell in cells}) == 1 and len({cell.load_key for cell in cells}) == 4
    )


FAILOVER: dict[str, Any] = {
    "common": {"profile": "mysql@9.7+replica1"},
    "factors": {
        "fault": {
            "none": {},
            "crash": {"faults": "server-crash"},
            "both": {"faults": ["hang", "reset"]},
        }
    },
    "baseline": {"fault": "none"},
    "depth": "restart",
}


def test_a_cell_with_a_fault_has_a_stack_of_its_own() -> None:
    made = matrix(**{**FAILOVER, "factors": {**FAILOVER["factors"], "threads": [1, 4]}})
    keys = {cell.name: cell.stack_key for cell in made.all_cells()}
    assert keys["fault-none.threads-1"] == keys["fault-none.threads-4"]
    assert len(set(keys.values())) == 1 + 4
    stacks = {cell.name: cell.stack for cell in resolved(select(made)).cells.values()}
    assert len({stacks[name] for name in stacks if "none" not in name}) == 4


def test_a_single_fault_is_a_list_of_one_and_a_factor_too() -> None:
    cells = list(matrix(**FAILOVER).all_cells())
    assert [cell.change.faults for cell in cells] == [None, ["server-crash"], ["hang", "reset"]]
    listed = matrix(
        **{
            **FAILOVER,
            "factors": {"faults": ["server-crash", "hang"]},
            "baseline": {"faults": "hang"},
        }
    )
    assert [cell.change.faults for cell in listed.all_cells()] == [["server-crash"], ["hang"]]
    step = {"at": "12s", "action": "promote", "after_s": 3}
    common = {**FAILOVER["common"], "faults": step}
    assert next(matrix(**{**FAILOVER, "common": common}).all_cells()).change.faults == [step]


def broken(*factors: dict[str, Any], **common: Any) -> tuple[list[Any] | None, str | None]:
    """What breaks, and the target, in the only cell of factors with one level each."""
    given = {f"f{number}": {"on": factor} for number, factor in enumerate(factors)}
    made = matrix(
        common={"profile": "mysql@9.7", **common},
        factors=given,
        baseline={"f0": "on"},
        depth="restart",
    )
    (cell,) = made.all_cells()
    return cell.change.faults, cell.change.target


def test_faults_of_several_factors_add_up_each_with_the_target_beside_it() -> None:
    slow = {"at": "9s", "fault": "bandwidth", "target": "all"}
    assert broken({"faults": "join-empty"}, {"faults": [slow]}) == (["join-empty", slow], None)
    assert broken({"faults": "hang"}, {}, faults="reset") == (["reset", "hang"], None)
    aimed, other = {"named": "reset", "target": "proxy"}, {"named": "hang", "target": "all"}
    assert broken({"faults": "hang"}, {"faults": "reset", "target": "proxy"}) == (
        ["hang", aimed],
        None,
    )
    assert broken({"faults": ["reset"]}, faults=["hang", slow], target="all") == (
        [other, slow, "reset"],
        None,
    )


def test_a_target_without_faults_is_of_all_of_them() -> None:
    slow = {"at": "9s", "fault": "bandwidth", "target": "all"}
    assert broken({"faults": ["hang", slow]}, {"target": "proxy"}) == (["hang", slow], "proxy")
    assert broken({"target": "proxy"}, {"faults": "hang"}, {"faults": "reset"}) == (
        ["hang", "reset"],
        "proxy",
    )
    assert broken({"target": "all"}, faults="hang", target="proxy") == (
        [{"named": "hang", "target": "all"}],
        "all",
    )


@pytest.mark.parametrize("depth", ["slices", None])
def test_a_matrix_with_faults_needs_a_fresh_stack_for_each_trial(depth: str | None) -> None:
    given = {
        name: value for name, value in {**FAILOVER, "depth": depth}.items() if value is not None
    }
    with pytest.raises(ValidationError, match="a matrix with faults has depth: restart"):
        matrix(**given)


def test_another_file_of_the_users_own_is_another_plan() -> None:
    def key(file: UserFile | None) -> str:
        def load_of(cell: Cell) -> BenchRequest:
            load = no_load(cell)
            return replace(load, workload=replace(load.workload, file=file))

        return resolved(select(matrix()), load_of).key

    files = (None, UserFile("a.sql", "SELECT 1", "1"), UserFile("a.sql", "SELECT 2", "2"))
    assert len({key(file) for file in files}) == 3


def test_a_fault_profile_that_has_changed_is_another_plan() -> None:
    def key(at_s: int) -> str:
        scenario = Scenario(
            (FaultProfile(title="-", steps=[Step(at_s=at_s, fault="hang", for_s=20)]),)
        )

        def load_of(cell: Cell) -> TrialRequest:
            load = no_load(cell)
            return TrialRequest(load.workload, load.parameters, scenario=scenario)

        return resolved(select(matrix(**FAILOVER)), load_of).key

    assert key(10) == key(10) != key(11)


def test_excluded_combinations_are_no_cells() -> None:
    made = matrix(exclude=[{"rewriter": True, "threads": [16, 64]}])
    assert [cell.name for cell in made.all_cells()][3:] == ["rewriter-on.threads-1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": {"rewriter": "maybe"}}, "no level 'maybe'; it has off, on"),
        ({"baseline": {"rewrit": "off"}}, "no factor 'rewrit'; known: rewriter, threads"),
        ({"exclude": [{"threads": 2}]}, "no level '2'"),
        ({"factors": {"speed": [1, 2]}, "baseline": {}}, "Extra inputs are not permitted"),
        ({"factors": {"threads": []}, "baseline": {}}, "factor threads has no level"),
        ({"factors": {"threads": [0]}, "baseline": {}}, "greater than or equal to 1"),
        ({"factors": {"x": {"a": {"thraeds": 3}}}, "baseline": {}}, "thraeds"),
        ({"common": {}}, "some cell has no profile"),
        (
            {"factors": {"threads": list(range(1, 2002))}, "baseline": {}},
            "the largest matrix has 2000",
        ),
        ({"isolation": "x"}, "isolation"),
        (
            {"factors": {"x": {"off": {}, False: {"threads": 1}}}, "baseline": {}},
            "factor x has the level 'off' twice",
        ),
        (
            {"factors": {"set": ["a=-1", "a=1"]}, "baseline": {}},
            "'a=-1' and 'a=1' would share a folder",
        ),
        (
            {"factors": {"x": {"A": {}, "a": {}}}, "baseline": {}},
            "'A' and 'a' would share a folder",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        matrix(**changes)


def test_every_cell_is_compared_with_the_baseline_at_its_own_level() -> None:
    made = resolved(select(matrix()))
    assert [(each.cell, each.baseline) for each in made.comparisons] == [
        (f"rewriter-on.threads-{threads}", f"rewriter-off.threads-{threads}")
        for threads in (1, 16, 64)
    ]
    assert made.tests == 6
    assert (made.canary.cell, made.canary.baseline) == ("canary", "rewriter-off.threads-16")


def test_only_leaves_levels_out_and_keeps_the_baseline() -> None:
    made = select(matrix(), "threads=1,64 rewriter=on")
    assert [cell.name for cell in made.cells] == [
        "rewriter-off.threads-1",
        "rewriter-off.threads-64",
        "rewriter-on.threads-1",
        "rewriter-on.threads-64",
    ]
    assert made.left_out == {"threads": ["16"]}


PROXIES: dict[str, Any] = {
    "common": {"profile": "gr1@9.7"},
    "factors": {
        "proxy": {
            "direct": {},
            "proxysql": {"add": ["proxysql+multiplexing", "fast-forward"]},
            "haproxy": {"add": "haproxy"},
        },
        "server": {"gr": {"profile": "gr3@9.7"}, "mariadb": {"profile": "mariadb@11.8"}},
        "threads": [1, 64],
    },
    "baseline": {"proxy": "direct"},
    "exclude": [{"proxy": "proxysql", "server": "mariadb", "threads": 64}],
    "conditions": [
        {
            "where": {"proxy": "proxysql"},
            "status": "Threads_connected",
            "at_most": 5,
            "because": "few",
        }
    ],
}


def test_only_names_a_level_in_another_version() -> None:
    made = select(
        matrix(**PROXIES), "proxy=proxysql,proxysql@2.7.2 server=gr@8.4,mariadb threads=64"
    )
    assert {cell.change.expression for cell in made.cells} == {
        "gr3@8.4",
        "gr3@8.4+proxysql+multiplexing+fast-forward",
        "gr3@8.4+proxysql@2.7.2+multiplexing+fast-forward",
        "mariadb@11.8",
    }
    assert made.left_out == {"proxy": ["haproxy"], "server": ["gr"], "threads": ["1"]}
    versioned = next(cell for cell in made.cells if "proxysql@2.7.2" in cell.levels.values())
    assert versioned.name == "proxy-proxysql-2-7-2.server-gr-8-4.threads-64"
    assert made.matrix.conditions_of(versioned) and (
        "gr" in str(comparisons_of(made.matrix, made.cells))
    )


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("proxy=direct@2.7", "adds no term"),
        ("proxy=proxysq@2.7", "no level 'proxysq@2.7'"),
        ("proxy=proxysql@", "no level 'proxysql@'"),
        ("proxy=proxysql@a;b", "is not a term"),
    ],
)
def test_a_version_that_no_level_can_have_is_refused(only: str, message: str) -> None:
    with pytest.raises(SandboxError, match=message) as refused:
        select(matrix(**PROXIES), only)
    assert len(refused.value.lines()) == 3


@pytest.mark.parametrize(
    ("only", "known"),
    [
        ("thread=1", "did you mean 'threads'?"),
        ("threads=2", "known: 1, 16, 64"),
        ("threads", ""),
        ("a='b", "quotation"),
    ],
)
def test_only_with_what_there_is_none_of_is_refused(only: str, known: str) -> None:
    with pytest.raises(SandboxError) as refused:
        select(matrix(), only)
    assert known in refused.value.known and len(refused.value.lines()) == 3


def test_a_matrix_of_baselines_alone_is_refused() -> None:
    with pytest.raises(SandboxError, match="nothing to compare"):
        select(matrix(), "rewriter=off")


def test_the_same_plan_has_the_same_key_whatever_it_is_called() -> None:
    key = resolved(select(matrix())).key
    assert resolved(select(matrix(title="Another")), blocks=8).key == key
    assert resolved(select(matrix(seconds=5))).key != key
    assert resolved(select(matrix(), "threads=1")).key != key


BETWEEN: dict[str, Any] = {"between": [1, 2], "because": "a floor"}


def published(*statements: dict[str, Any], **sources: dict[str, Any]) -> Matrix:
    """The matrix of proxies with these statements on tps."""
    said = [{"metric": "tps", "says": "so it is", **each} for each in statements]
    return matrix(**PROXIES | {"published": {"statements": said, "sources": sources}})


def floor(**more: Any) -> dict[str, Any]:
    """An expected value."""
    return {"value": {**BETWEEN, **more}}


def test_a_statement_on_a_level_holds_for_its_other_versions() -> None:
    given = published(
        floor(where={"proxy": "proxysql", "threads": 64}),
        {
            "compare": {
                "this": {"proxy": "proxysql"},
                "against": {"proxy": "haproxy"},
                "order": "higher",
            }
        },
    )
    made = select(given, "proxy=proxysql@2.7.2 server=gr threads=64")
    value, compared = made.matrix.published.statements
    assert value.value and value.value.where == {
        "proxy": ["proxysql", "proxysql@2.7.2"],
        "threads": ["64"],
    }
    assert compared.compare and compared.compare.this == {"proxy": ["proxysql", "proxysql@2.7.2"]}


def test_a_statement_does_not_change_the_plan() -> None:
    """So that a result can be resumed, with what was expected when it began."""
    given = published(floor(where={"threads": 64}))
    assert resolved(select(given)).key == resolved(select(matrix(**PROXIES))).key


def test_a_comparison_is_of_every_cell_of_a_level_with_its_own_other_one() -> None:
    claim = {
        "this": {"rewriter": "on"},
        "against": {"rewriter": "off"},
        "ratio": 0.5,
    }
    said = {"metric": "tps", "says": "half", "compare": claim}
    source = {"authors": "A", "year": 2016}
    made = matrix(published={"statements": [said], "sources": {"a": source}})
    cells = [*made.all_cells()]
    (part,) = made.published.statements_on(cells)
    assert part.source == "a", "the only one"
    assert part.ratio == pytest.approx((0.25, 0.5**0.5)), "half to twice as strong"
    pairs = {(cell.name, cell.name.replace("rewriter-on", "rewriter-off")) for cell in cells}
    assert {*part.pairs} == {pair for pair in pairs if "rewriter-on" in pair[0]}


def test_a_curve_has_the_levels_of_its_factor_in_their_order() -> None:
    knee = {"over": "threads", "at": 8, "where": {"rewriter": "on"}}
    made = matrix(published={"statements": [{"metric": "tps", "says": "so it is", "knee": knee}]})
    cells = [*made.all_cells()]
    (part,) = made.published.statements_on(cells)
    (curve,) = part.curves
    assert curve == [cell.name for cell in cells if cell.levels["rewriter"] == "on"]
    assert (part.over, part.knee_at) == ("threads", 8)
    lone = [cell for cell in cells if cell.name in curve[:1]]
    assert made.published.statements_on(lone) == [], "one level is no curve"


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ([floor(where={"thread": 64})], "there is no factor 'thread'"),
        ([floor(where={"threads": 65})], "no level '65'"),
        ([floor(between=[2, 1])], "between: 2 is above 1"),
        ([floor(tolerance=-1)], "greater than or equal to 0"),
        ([floor(), floor(where={"threads": 64})], "two expected values of tps"),
        (
            [floor(where={"proxy": "proxysql", "server": "mariadb", "threads": 64})],
            "no cells have these levels",
        ),
        ([{}], "a statement has one of compare, knee, flat, value; here: none"),
        ([{**floor(), "flat": {"over": "threads"}}], "here: flat and value"),
        ([{"flat": {"over": "threads"}, "says": ""}], "says: what was published, in words"),
        ([{"flat": {"over": "thread"}}], "there is no factor 'thread'"),
        ([{"knee": {"over": "proxy", "at": 4}}], "a knee is at a number; factor proxy has the"),
        ([{"flat": {"over": "threads"}, "source": "b"}], "there is no source 'b'; the sources: a"),
        ([{"compare": {"this": {}, "against": {"proxy": ["a", "b"]}}}], "proxy has several levels"),
        ([{"compare": {"this": {}, "against": {"threads": 64}}}], "has one claim: ratio, or order"),
        (
            [{"compare": {"this": {}, "against": {"threads": 64}, "ratio": 1}}],
            "of two alike say order: alike",
        ),
        (
            [{"compare": {"this": {}, "against": {"threads": 64}, "ratio": [2, 1]}}],
            "two positive values, the lower one first",
        ),
        (
            [{"compare": {"this": {}, "against": {"threads": 65}, "order": "alike"}}],
            "no level '65'",
        ),
    ],
)
def test_a_statement_on_nothing_or_of_two_kinds_is_refused(
    statements: list[Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        published(*statements, a={"authors": "A", "year": 2016})


def test_a_matrix_file_may_ask_for_an_image_and_is_adjusted_as_before() -> None:
    data = {
        "name": "x", "title": "x", "question": "x?", "common": {"profile": "mysql"},
        "factors": {"image": ["mine:1", "mine:2"]}, "baseline": {"image": "mine:1"},
    }  # fmt: skip
    matrix = Matrix.model_validate(data)
    assert [cell.change.image for cell in matrix.all_cells()] == [["mine:1"], ["mine:2"]]
    assert len({cell.stack_key for cell in matrix.all_cells()}) == 2
    assert matrix.adjustment == "Benjamini-Hochberg"

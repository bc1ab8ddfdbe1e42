"""A matrix file resolved: stacks with the data that their levels want, what breaks in a cell, how
many blocks.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.judge.verdict import FEWEST_TRIALS
from sandbox.matrix import loads, resolve
from sandbox.matrix.dataset import needs_kept
from sandbox.matrix.file import read_matrix
from sandbox.matrix.resolved import ResolvedMatrix, schedule
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.scenario import FAULTS as FAULT_FOLDERS
from sandbox.measure.trial.scenario import scenario_of
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.variables import UnknownVariableError
from sandbox.stack.planning import offline_plan

MATRIX = """\
title: Data
question: Which of it where?
common: {profile: mysql@9.7, tables: 1, rows: 1000}
factors:
  commits: {relaxed: {add: relaxed}, durable: {add: durable}}
  FACTOR
baseline: {commits: relaxed}
"""


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "planned", offline_plan)
    monkeypatch.setattr(resolve, "engine_facts", lambda _: None)
    monkeypatch.setattr(resolve, "host_class", lambda _: "here")


def resolved(tmp_path: Path, factor: str) -> ResolvedMatrix:
    path = tmp_path / "data.yaml"
    path.write_text(MATRIX.replace("FACTOR", factor))
    return resolve.resolve_file(read_matrix(path), path, None)


@pytest.mark.parametrize(
    ("factor", "stacks"),
    [
        ("rows: [1000, 2000]", 4),
        ("tables: [1, 2]", 4),
        ("threads: [1, 4]", 2),
        ("dist: [uniform, pareto]", 2),
        ("workload: [oltp_read_write, oltp_point_select]", 2),
        ("workload: [oltp_read_write, tpcc]", 2),  # beside one another
        ("workload: [oltp_read_write, oltp_insert]", 4),
        ("workload: [oltp_delete, oltp_insert]", 2),  # each uses up what it finds
        ("workload: [oltp_insert, oltp_read_write, oltp_point_select]", 4),
    ],
)
def test_stacks_are_as_many_as_need_be(tmp_path: Path, factor: str, stacks: int) -> None:
    made = resolved(tmp_path, factor)
    assert len({cell.stack for cell in made.cells.values()}) == stacks
    assert made.canary_of in made.cells.values() and len(made.comparisons) == len(made.cells) / 2


def knows(series: str) -> Callable[[PlanRequest], Plan]:
    """A planner on whose machine only the servers of one series know what is in SET=."""

    def planned(request: PlanRequest) -> Plan:
        made = offline_plan(request)
        for node in made.databases:
            for name, _ in node.assignments:
                if node.series != series:
                    raise UnknownVariableError("SET", node.image, name, "max_connections")
        return made

    return planned


def test_a_variable_that_no_server_of_its_level_knows_is_a_mistake_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "planned", knows("none"))
    with pytest.raises(SandboxError, match="has no variable 'max_conections'") as refused:
        resolved(
            tmp_path,
            "version: {old: {profile: mysql@8.4}, new: {profile: mysql@9.7, set:"
            " max_conections=5}}",
        )
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert refused.value.what.startswith(f"{tmp_path}/data.yaml:6: SET: ")


def test_a_variable_that_came_with_a_version_skips_the_cells_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "planned", knows("9.7"))
    path = tmp_path / "data.yaml"
    common = MATRIX.replace("rows: 1000}", "rows: 1000, set: max_conections=5}")
    path.write_text(
        common.replace("FACTOR", "version: {old: {profile: mysql@8.4}, new: {profile: mysql@9.7}}")
    )
    skipped = resolve.resolve_file(read_matrix(path), path, None).skipped
    assert {cell.rpartition("-")[2] for cell in skipped} == {"old"}
    assert all("has no variable 'max_conections'" in reason for reason in skipped.values())


def test_every_run_finds_the_data_that_its_stack_was_restored_with(tmp_path: Path) -> None:
    made = resolved(tmp_path, "rows: [1000, 2000]")
    datasets = {name: stack.dataset for name, stack in made.stacks.items() if stack.dataset}
    held = {name: {need.key for need in needs_kept(each.loads)} for name, each in datasets.items()}
    for run in schedule(made, 2, 1):
        (need,) = needs_kept([run.of.load])
        assert held[run.stack] == {need.key}
    keys = {name: each.key for name, each in datasets.items()}
    assert len(set(keys.values())) == 2, "settings that change no layout share data"
    assert keys["canary"] == keys[made.canary_of.stack]


EXTERNAL = """\
title: Managed
question: How long?
common: {profile: external, external: "ADDRESS"}
factors:
  fault:
    none: {faults: none}
    read-only:
      faults:
        {at: 10s, for: 5s, fault: sql, statement: SET GLOBAL read_only = 1, heal_statement: SET GLOBAL read_only = 0}
baseline: {fault: none}
metrics: [rto_ms]
depth: restart
"""  # noqa: E501


def test_an_external_server_has_trials_in_a_matrix(tmp_path: Path) -> None:
    path = tmp_path / "managed.yaml"
    path.write_text(EXTERNAL.replace("ADDRESS", "mysql://app@db.example/shop"))
    made = resolve.resolve_file(read_matrix(path), path, None)
    assert not made.skipped and made.blocks == FEWEST_TRIALS
    assert {each.request.external for each in made.stacks.values()} == {
        "mysql://app@db.example/shop"
    }
    assert all(
        each.plan and each.plan.groups[0].external and each.dataset is None
        for each in made.stacks.values()
    )
    (step,) = trials_of(made)["fault-read-only"].schedule.steps
    assert (step.fault, step.target, step.options["statement"]) == (
        "sql",
        "writer",
        "SET GLOBAL read_only = 1",
    )


@pytest.mark.parametrize("address", ["db.example", "mysql://app:S3cret@db.example/shop"])
def test_an_address_that_is_not_valid_is_refused_with_its_line(
    tmp_path: Path, address: str
) -> None:
    path = tmp_path / "managed.yaml"
    path.write_text(EXTERNAL.replace("ADDRESS", address))
    with pytest.raises(SandboxError) as refused:
        resolve.resolve_file(read_matrix(path), path, None)
    assert refused.value.what.startswith(f"{path}:3: EXTERNAL=")
    assert refused.value.exit_code is ExitCode.BAD_INPUT and "S3cret" not in " ".join(
        refused.value.lines()
    )


FAULTS = """\
title: Failover
question: How long?
common: {profile: mysql@9.7+replica1, tables: 1, rows: 1000, threads: 4, workload: oltp_read_only}
factors:
  fault:
    crash: {faults: server-crash}
    promoted: {faults: [promotion], target: writer}
    steps:
      faults:
        - {at: 10s, fault: partition, for: 5s, away_from: servers}
        - {at: 12s, action: promote, after_s: 3}
  load: [idle, loaded]
baseline: {fault: crash}
metrics: [rto_ms]
depth: restart
"""


def failover(tmp_path: Path, old: str = "", new: str = "") -> ResolvedMatrix:
    """The matrix with faults, with one text changed."""
    assert old in FAULTS
    path = tmp_path / "failover.yaml"
    path.write_text(FAULTS.replace(old, new) if old else FAULTS)
    return resolve.resolve_file(read_matrix(path), path, None)


def trials_of(made: ResolvedMatrix) -> dict[str, TrialRequest]:
    """The trials among the loads, by cell."""
    return {
        name: cell.load for name, cell in made.cells.items() if isinstance(cell.load, TrialRequest)
    }


def test_what_breaks_in_a_cell_is_a_schedule(tmp_path: Path) -> None:
    trials = trials_of(failover(tmp_path))
    steps = {name: [step.name for step in trial.schedule.steps] for name, trial in trials.items()}
    assert steps["fault-crash.load-idle"] == ["server-crash"]
    assert steps["fault-promoted.load-idle"] == ["server-crash", "promote", "rejoin"]
    assert steps["fault-steps.load-loaded"] == ["partition", "promote"]


def test_the_writes_of_a_probe_are_transactions_where_a_level_says_so(tmp_path: Path) -> None:
    made = failover(
        tmp_path, "  load: [idle, loaded]", "  write: {alone: {}, transaction: {transaction: true}}"
    )
    asked = {name: trial.transaction for name, trial in trials_of(made).items()}
    assert not asked["fault-crash.write-alone"] and asked["fault-crash.write-transaction"]


LOAD, ROWS = (
    "  load: [idle, loaded]\n",
    "tables: 1, rows: 1000, threads: 4, workload: oltp_read_only",
)


def test_the_workload_runs_only_beside_a_loaded_probe_but_its_data_is_there_for_both(
    tmp_path: Path,
) -> None:
    made = failover(tmp_path)
    idle, loaded = (trials_of(made)[f"fault-crash.load-{load}"] for load in ("idle", "loaded"))
    assert not idle.has_load and loaded.has_load
    assert idle.data_need and idle.data_need == loaded.data_need and idle.data_need.rows == 1000
    datasets = {stack.dataset.key for stack in made.stacks.values() if stack.dataset}
    assert len(datasets) == 1, "all are restored from the same data"


@pytest.mark.parametrize(
    ("common", "load", "rows"),
    [
        (ROWS, "", 1000),
        ("tables: 1, rows: 20", "", 20),
        ("workload: oltp_read_only", "", 400_000),
        ("threads: 4", "", None),
        ("threads: 4", LOAD, 400_000),
    ],
)
def test_an_idle_trial_has_the_data_of_its_cell_or_of_the_loaded_ones(
    tmp_path: Path, common: str, load: str, rows: int | None
) -> None:
    path = tmp_path / "failover.yaml"
    path.write_text(FAULTS.replace(ROWS, common).replace(LOAD, load))
    idle = next(iter(resolve.resolve_file(read_matrix(path), path, None).cells.values())).load
    assert not idle.has_load and (idle.data_need.rows if idle.data_need else None) == rows


DELAYED = (
    "crash: {faults: server-crash}",
    "crash: {faults: server-crash}\n    delay: {faults: high-latency}",
)


def on_an_engine(monkeypatch: pytest.MonkeyPatch, asked: Callable[[], Mapping[str, str]]) -> None:
    """All images are here; what the kernel lacks is asked of a test."""

    def here(request: PlanRequest) -> Plan:
        plan = offline_plan(request)
        return replace(
            plan,
            nodes=tuple(replace(n, choice=replace(n.choice, source="local")) for n in plan.nodes),
        )

    monkeypatch.setattr(resolve, "planned", here)
    monkeypatch.setattr(resolve, "lacking", lambda docker, image, owner: asked())


def test_a_fault_that_the_kernel_cannot_have_is_skipped_before_a_stack_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_an_engine(monkeypatch, lambda: {"netem": "Specified qdisc kind is unknown."})
    reason = (
        "the fault delay is skipped: the engine's kernel has no netem: Specified qdisc kind is"
        " unknown."
    )
    assert failover(tmp_path, *DELAYED).skipped == dict.fromkeys(
        ("fault-delay.load-idle", "fault-delay.load-loaded"), reason
    )


AIMED = (
    (
        "aim: {faults: hang, target: proxy}",
        "the stack has no target 'proxy': its group has no proxy",
    ),
    (
        "aim: {faults: server-crash, target: proxy, add: haproxy}",
        "the fault server-crash cannot hit haproxy1: ",
    ),
    (
        "aim: {faults: hang, target: minority}",
        "the stack has no target 'minority': a minority needs three",
    ),
    (
        "aim: {faults: [{at: 9s, action: switchover, target: majority}]}",
        "the stack has no target 'majority'",
    ),
)


@pytest.mark.parametrize(("level", "reason"), AIMED)
def test_a_target_that_the_stack_never_has_is_skipped_before_it_starts(
    tmp_path: Path, level: str, reason: str
) -> None:
    found = failover(
        tmp_path, "crash: {faults: server-crash}", "crash: {faults: server-crash}\n    " + level
    ).skipped
    assert found.keys() == {"fault-aim.load-idle", "fault-aim.load-loaded"}
    assert all(each.startswith(reason) for each in found.values())


@pytest.mark.parametrize(
    ("level", "line", "word"),
    [
        ("aim:\n      faults: hang\n      target: wirter", 9, "wirter"),
        ("aim:\n      faults: [{at: 9s, fault: hang, target: mysql2}]", 8, "mysql2"),
        ("aim:\n      faults: [server-crash, {named: hang, target: client1}]", 8, "client1"),
    ],
)
def test_a_target_that_no_stack_has_is_reported_with_its_line(
    tmp_path: Path, level: str, line: int, word: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        failover(
            tmp_path, "crash: {faults: server-crash}", "crash: {faults: server-crash}\n    " + level
        )
    file = tmp_path / "failover.yaml"
    assert (
        refused.value.what == f"{file}:{line}: target: '{word}' is not a node or term of any stack"
    )


def test_every_target_that_may_be_drawn_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = (
        "title: R\nrandom: {faults: [hang], targets: [writer, proxy], count: 1, every: 20s, for:"
        " 5s}\n"
    )
    (tmp_path / "drawn.yaml").write_text(drawn)
    monkeypatch.setattr(
        loads,
        "scenario_of",
        lambda faults, target=None: scenario_of(faults, target, [*FAULT_FOLDERS, tmp_path]),
    )
    with_drawn = (
        "crash: {faults: server-crash}",
        "crash: {faults: server-crash}\n    drawn: {faults: drawn}",
    )
    assert failover(tmp_path, *with_drawn).skipped.keys() == {
        "fault-drawn.load-idle",
        "fault-drawn.load-loaded",
    }
    with_proxy = (
        with_drawn[0],
        with_drawn[1].replace("faults: drawn", "faults: drawn, add: haproxy"),
    )
    assert not failover(tmp_path, *with_proxy).skipped


SKEWED = (
    "crash: {faults: server-crash}",
    "crash: {faults: server-crash}\n    skew: {faults: clock-skew}",
)


def test_a_fault_without_its_setting_is_skipped_before_a_stack_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_an_engine(monkeypatch, dict)
    reason = "the fault clock-skew is skipped: no server has the setting adjustable-clock"
    assert failover(tmp_path, *SKEWED).skipped == dict.fromkeys(
        ("fault-skew.load-idle", "fault-skew.load-loaded"), reason
    )
    with_it = (SKEWED[0], SKEWED[1].replace("clock-skew", "clock-skew, add: adjustable-clock"))
    assert not failover(tmp_path, *with_it).skipped


def test_a_kernel_that_cannot_be_asked_skips_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> Mapping[str, str]:
        raise MachineError("docker run failed", "no space left", "try: make doctor")

    on_an_engine(monkeypatch, refused)
    assert not failover(tmp_path, *DELAYED).skipped


def test_the_kernel_is_not_asked_without_the_image_or_a_fault_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "lacking", lambda *_: pytest.fail("it has no image"))
    assert not failover(tmp_path, *DELAYED).skipped
    on_an_engine(monkeypatch, lambda: pytest.fail("nothing needs it"))
    assert not failover(
        tmp_path, "fault: partition, for: 5s, away_from: servers", "fault: hang, for: 5s"
    ).skipped


def test_a_factor_that_only_a_load_would_use_is_refused_where_none_runs(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="no workload of this matrix uses dist"):
        failover(tmp_path, LOAD, "  dist: [uniform, pareto]\n")


def test_a_cell_whose_workload_needs_another_stack_is_skipped_with_the_reason(
    tmp_path: Path,
) -> None:
    made = resolved(tmp_path, "workload: {plain: {}, replayed: {workload: replica-catch-up}}")
    reasons = {name.rpartition(".")[2]: reason for name, reason in made.skipped.items()}
    assert reasons.keys() == {"workload-replayed"} and len(made.skipped) == 2
    assert reasons["workload-replayed"].startswith(
        "the workload replica-catch-up needs a replica: mysql@9.7+"
    )


def test_each_cell_with_a_fault_has_a_stack_and_ten_trials(tmp_path: Path) -> None:
    made = failover(tmp_path)
    assert len({cell.stack for cell in made.cells.values()}) == 6 and set(made.stacks) >= {
        "variant6",
        "canary",
    }
    assert made.blocks == FEWEST_TRIALS == 10
    assert failover(tmp_path, "depth: restart", "depth: restart\nblocks: 6").blocks == 6


def test_without_a_fault_blocks_are_as_many_as_a_difference_needs(tmp_path: Path) -> None:
    assert resolved(tmp_path, "threads: [1, 4]").blocks < FEWEST_TRIALS


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("faults: server-crash", "faults: server-crsh", 6, "there is no fault 'server-crsh'"),
        (
            "workload: oltp_read_only",
            "workload: replica-catch-up",
            6,
            "the workload replica-catch-up cannot be the load of a trial",
        ),
        (
            "workload: oltp_read_only",
            "workload: bank",
            6,
            "the workload bank cannot be the load of a trial",
        ),
        ("after_s: 3", "aftr_s: 3", 9, "these faults are no schedule: steps.0.aftr_s"),
        ("for: 5s", "for: 5", 9, "these faults are no schedule: steps.0.for"),
    ],
)
def test_a_fault_that_there_is_none_of_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        failover(tmp_path, old, new)
    assert refused.value.what == f"{tmp_path / 'failover.yaml'}:{line}: {what}"
    assert refused.value.exit_code is ExitCode.BAD_INPUT

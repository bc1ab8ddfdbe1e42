"""The machine in a few lines; in what the variants differ: asked for, set alike and yet not alike,
set by nobody.
"""

from sandbox.judge.variants import VariantDifference
from sandbox.record.manifest import CellPart, HostCheck, MatrixPart
from sandbox.record.record import Environment, HostLoad, Inputs, Record
from sandbox.report.result import (
    VariantDiff,
    config_diffs,
    environment_rows,
    host_check_row,
    node_rows,
    stack_rows,
)
from unit.record.samples import sample_record
from unit.report.test_verdicts import part


def test_the_machine_and_its_load() -> None:
    machine = Environment(
        cpu_model="EPYC",
        cpus=2,
        memory_bytes=8 * 2**30,
        engine_version="27",
        storage_driver="overlay2",
    )
    busy = [
        machine.model_copy(update={"during": HostLoad(cpu_busy_percent=value)})
        for value in (90.0, 50.0, 99.0)
    ]
    rows = dict(environment_rows([sample_record(environment=each) for each in busy]))
    assert rows["processor"] == "2 x EPYC, governor unknown" and rows["memory"] == "8.0 GiB"
    assert rows["CPU busy"] == "median 90.0 % of a run's time (50.0 to 99.0 %)"
    assert rows["stalled on I/O"] == "unknown" and rows["storage"] == "overlay2; data on unknown"


def test_a_single_run_has_no_range_and_an_unknown_machine_no_rows() -> None:
    assert dict(environment_rows([sample_record()]))["CPU busy"] == "98.0 %"
    assert environment_rows([sample_record(environment=Environment())]) == []


def test_host_checks_are_reported_by_their_range() -> None:
    checks = [
        HostCheck(block=1, cpu_turns=900, fsync_ms=0.5),
        HostCheck(block=2, cpu_turns=1000, fsync_ms=0.25),
    ]
    ((_, message),) = host_check_row(checks)
    assert (
        message == "processor loop 900 to 1,000 iterations in 0.5 s, median fsync 0.25 to 0.50 ms"
    )
    assert host_check_row([]) == []


def matrix(**planned: dict[str, str]) -> MatrixPart:
    cells = [
        CellPart(name=name, levels={"rewriter": name}, profile="mysql", variant=f"variant-{name}")
        for name in ("off", "on")
    ]
    return part(
        cells=cells, planned={f"variant-{name}": variables for name, variables in planned.items()}
    )


def record(cell: str, **variables: str) -> Record:
    return sample_record(cell=cell, variables={"mysql1": variables, "replica1": variables})


def diff(
    baseline: dict[str, str], variant: dict[str, str], **planned: dict[str, str]
) -> VariantDiff:
    (found,) = config_diffs(matrix(**planned), [record("on", **variant), record("off", **baseline)])
    return found


BOTH = "mysql1, replica1"


def test_what_was_asked_for_stands_apart_from_what_nobody_set() -> None:
    found = diff(
        {"sync_binlog": "1", "buffer_pool": "128M", "max_connections": "151"},
        {"sync_binlog": "0", "buffer_pool": "64M", "max_connections": "200"},
        off={"sync_binlog": "1", "max_connections": "151"},
        on={"sync_binlog": "0", "max_connections": "151"},
    )
    assert (found.variant, found.baseline) == ("rewriter on", "rewriter off")
    assert found.asked == [VariantDifference(BOTH, "sync_binlog", "1", "0")]
    assert found.wrong == [VariantDifference(BOTH, "max_connections", "151", "200")]
    assert found.free == [VariantDifference(BOTH, "buffer_pool", "128M", "64M")]
    assert found.only_one == []


def test_a_variable_that_only_one_has_is_shown_apart_and_identities_are_not_compared() -> None:
    found = diff({"old": "1", "hostname": "a"}, {"new": "2", "hostname": "b"})
    assert found.only_one == [
        VariantDifference(BOTH, "new", None, "2"),
        VariantDifference(BOTH, "old", "1", None),
    ]
    assert not (found.free or found.asked or found.wrong)


def test_of_a_long_list_only_what_differs_is_reported() -> None:
    found = diff({"optimizer_switch": "a=on,b=on,c=on"}, {"optimizer_switch": "a=on,b=off,c=on"})
    assert found.free == [VariantDifference(BOTH, "optimizer_switch", "b=on, …", "b=off, …")]


def test_servers_that_differ_otherwise_have_lines_of_their_own() -> None:
    ours = sample_record(cell="on", variables={"mysql1": {"x": "1"}, "replica1": {"x": "2"}})
    (found,) = config_diffs(matrix(), [ours, record("off", x="0")])
    assert [each.server for each in found.free] == ["mysql1", "replica1"]


def test_a_run_that_failed_says_nothing_and_one_stack_is_not_compared_with_itself() -> None:
    assert (
        config_diffs(
            matrix(),
            [record("off", x="1"), record("on", x="2").model_copy(update={"status": "failed"})],
        )
        == []
    )
    same = part(
        cells=[
            CellPart(name=name, levels={"rewriter": name}, profile="m", variant="variant1")
            for name in ("off", "on")
        ]
    )
    assert config_diffs(same, [record("off", x="1"), record("on", x="2")]) == []


def test_nodes_that_are_alike_in_all_variants_stand_in_one_line() -> None:
    rows = stack_rows(matrix(), [record("off"), record("on"), record("off")])
    assert [(row["variant"], row["nodes"]) for row in rows] == [
        ("rewriter off; rewriter on", "mysql1, replica1")
    ]
    limited = record("on").model_copy(
        update={"environment": Environment(inputs=Inputs(cpus="0.5", assignments=["a=1"]))}
    )
    rows = stack_rows(matrix(), [record("off"), limited])
    assert [(row["variant"], row["given"]) for row in rows] == [
        ("rewriter off", ""),
        ("rewriter on", "CPUS=0.5 a=1"),
    ]


def test_files_are_reported_by_their_hash() -> None:
    inputs = Inputs(cnf_name="my.cnf", cnf_sha256="abc", init_name="x.sql", init_sha256="def")
    (row,) = node_rows(sample_record(environment=Environment(inputs=inputs)), "here")
    assert row["given"] == "my.cnf (sha256 abc) x.sql (sha256 def)"

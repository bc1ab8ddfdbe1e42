"""The machine in a few lines; what is not known says so."""

from sandbox.report.environment import environment_rows, host_check_row
from sandbox.results.manifest import HostCheck
from sandbox.results.record import Environment, HostLoad
from unit.results.samples import sample_record


def test_the_machine_and_its_load() -> None:
    machine = Environment(
        cpu_model="EPYC", cpus=2, memory_bytes=8 * 2**30, engine_version="27", storage_driver="overlay2"
    )
    busy = [machine.model_copy(update={"during": HostLoad(cpu_busy_percent=value)}) for value in (90.0, 50.0, 99.0)]
    rows = dict(environment_rows([sample_record(environment=each) for each in busy]))
    assert rows["processor"] == "2 x EPYC, governor unknown" and rows["memory"] == "8.0 GiB"
    assert rows["CPU busy"] == "median 90.0 % of a run's time (50.0 to 99.0 %)"
    assert rows["stalled on I/O"] == "unknown" and rows["storage"] == "overlay2; data on unknown"


def test_a_single_run_has_no_range_and_an_unknown_machine_no_rows() -> None:
    assert dict(environment_rows([sample_record()]))["CPU busy"] == "98.0 %"
    assert environment_rows([sample_record(environment=Environment())]) == []


def test_host_checks_are_told_by_their_range() -> None:
    checks = [HostCheck(block=1, cpu_turns=900, fsync_ms=0.5), HostCheck(block=2, cpu_turns=1000, fsync_ms=0.25)]
    ((_, told),) = host_check_row(checks)
    assert told == "processor loop 900 to 1,000 iterations in 0.5 s, median fsync 0.25 to 0.50 ms"
    assert host_check_row([]) == []

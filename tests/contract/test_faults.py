"""Every fault file and every fault profile: found by itself, with help, described options with
units.
"""

import re
from pathlib import Path

import pytest

from sandbox.core.paths import CHECKOUT, yaml_files
from sandbox.core.plugin_options import help_line, option_texts
from sandbox.failure.fault import FAULT_KINDS, Fault, fault_named
from sandbox.failure.targets import WORDS
from sandbox.measure.trial.scenario import read_profile
from sandbox.measure.trial.schedule import LONGEST_S, SAME

KINDS = FAULT_KINDS.every()
FOLDER = CHECKOUT / "scripts" / "sandbox" / "failure" / "faults"
PROFILES = yaml_files([CHECKOUT / "profiles" / "faults"])
SHIPPED = {
    *("server-crash", "host-loss", "hang", "graceful", "isolated-writer"),
    *("unplug", "reset", "packet-loss", "slow-writer", "flapping"),
    *("slow-reader", "slow-disk-writer", "low-bandwidth", "high-latency"),
    *("power-loss", "power-loss-all"),
    *("promotion", "switchover", "rolling-restart", "link-cut-then-crash"),
    *("join-empty", "join-kept", "leave", "lost-majority", "rolling-upgrade"),
}
UNITS = re.compile(r"_(s|ms|bytes|mbit_per_s|bytes_per_s|share)$|^(share|cpus|port|page)$")


def test_the_faults_of_the_specification_are_there() -> None:
    expected = (
        "server-crash host-loss hang graceful unplug partition reset loss delay bandwidth slow-disk"
        " slow-node"
    )
    assert set(
        f"{expected} disk-full out-of-memory corruption power-loss clock-skew sql by-hand".split()
    ) <= set(FAULT_KINDS.names())


def test_every_file_is_a_fault_of_its_name() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert {name.replace("-", "_") for name in KINDS} == files
    assert {kind.__module__.rpartition(".")[2] for kind in KINDS.values()} == files


@pytest.mark.parametrize("name", KINDS)
def test_it_has_one_class_with_one_line_of_help(name: str) -> None:
    kind = KINDS[name]
    assert kind.__doc__ and kind.__doc__ != Fault.__doc__ and "\n\n" not in kind.__doc__
    assert help_line(kind).endswith(".") and len(help_line(kind)) <= 120
    module = Path(FOLDER / f"{name.replace('-', '_')}.py").read_text()
    assert len(re.findall(r"^class ", module, re.MULTILINE)) == 1
    assert module.startswith(f'"""{name}: ')


@pytest.mark.parametrize("name", KINDS)
def test_its_options_are_described_bounded_and_have_a_default(name: str) -> None:
    for option, field in KINDS[name].model_fields.items():
        assert option_texts(KINDS[name])[option], option
        assert not field.is_required() or (name, option) == ("sql", "statement")
        if field.annotation in (int, float):
            bounds = {type(each).__name__ for each in field.metadata}
            assert UNITS.search(option), f"{option} has no unit"
            assert bounds & {"Ge", "Gt"} and bounds & {"Le", "Lt"}, option


@pytest.mark.parametrize("name", KINDS)
def test_it_hits_some_node_but_never_the_client(name: str) -> None:
    kinds = KINDS[name].kinds
    assert "database" in kinds and not kinds & {"client", "monitor"}


@pytest.mark.parametrize("name", sorted({*KINDS} - {"sql"}))
def test_it_can_be_made_without_options(name: str) -> None:
    assert fault_named(name) == fault_named(name, fault_named(name).model_dump(exclude_none=True))


def test_the_profiles_are_there() -> None:
    assert set(PROFILES) >= SHIPPED


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_loads_and_is_a_schedule(name: str) -> None:
    profile = read_profile(PROFILES[name])
    steps = profile.schedule(1).steps
    assert profile.title and "\n" not in profile.title
    assert steps[0].at_s >= 10, "time for a baseline"
    assert all((step.end_s or 0) <= LONGEST_S for step in steps)
    assert {step.target for step in steps} <= {*WORDS, SAME}


@pytest.mark.parametrize("name", sorted({*PROFILES} & {*KINDS}))
def test_a_profile_with_a_faults_name_is_that_fault_once(name: str) -> None:
    assert [step.fault for step in read_profile(PROFILES[name]).schedule().steps] == [name]

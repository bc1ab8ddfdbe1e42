"""Parameters as typed become parameters, or three lines that name the variable."""

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.load.common.workload import make_parameters


def test_defaults_are_those_of_make_bench() -> None:
    parameters = make_parameters()
    assert (parameters.threads, parameters.seconds, parameters.warmup_s) == (8, 30, 5)
    assert (parameters.tables, parameters.rows_per_table, parameters.distribution) == (
        4,
        100_000,
        "uniform",
    )
    assert parameters.rate_per_s is None


def test_text_is_read_as_numbers() -> None:
    assert make_parameters(threads="32", rate_per_s="500").rate_per_s == 500


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ({"threads": "many"}, "THREADS"),
        ({"threads": 0}, "THREADS"),
        ({"seconds": 0}, "SECONDS"),
        ({"warmup_s": -1}, "WARMUP"),
        ({"rows_per_table": "1e9x"}, "ROWS"),
        ({"rate_per_s": 0}, "RATE"),
        ({"distribution": "parteo"}, "DIST"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_variable(
    given: dict[str, object], variable: str
) -> None:
    with pytest.raises(SandboxError) as caught:
        make_parameters(**given)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert f"{variable}={next(iter(given.values()))}" in caught.value.what


def test_a_mistyped_distribution_gets_a_hint() -> None:
    with pytest.raises(SandboxError) as caught:
        make_parameters(distribution="parteo")
    assert "'pareto'" in caught.value.known

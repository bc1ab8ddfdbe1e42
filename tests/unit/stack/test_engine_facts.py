"""Facts of the machine, and what does not fit on it."""

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.engine_facts import available_memory_mb, check_resources, free_disk_mb
from unit.stack.fake_docker import INFO
from unit.stack.small_stack import local_plan


def test_a_machine_elsewhere_is_bounded_by_its_whole_memory() -> None:
    assert available_memory_mb(INFO) == 16 << 10
    assert free_disk_mb(INFO) is None
    check_resources(local_plan("mysql"), INFO)


def test_a_plan_too_large_for_the_machine_is_refused() -> None:
    with pytest.raises(SandboxError) as large:
        check_resources(local_plan("mysql9"), {**INFO, "MemTotal": 1 << 30})
    assert large.value.exit_code == ExitCode.ENVIRONMENT
    assert "1024 MiB are free" in large.value.what

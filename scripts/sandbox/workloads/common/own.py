"""The user's own workload: a Lua script for sysbench, or statements with weights."""

from collections.abc import Mapping
from dataclasses import replace

from sandbox.plan.model import UserFile
from sandbox.workloads.common.model import OptionValue, Workload
from sandbox.workloads.common.registry import NamedWorkload
from sandbox.workloads.common.statement_file import parse_statements
from sandbox.workloads.statements import Statements
from sandbox.workloads.sysbench import script_of

SUFFIXES = (".lua", ".sql")


def own_workload(path: str, file: UserFile) -> NamedWorkload:
    """The workload that a file is; ``path`` as the user typed it. Raises SandboxError (exit 2) for one that cannot be.

    It goes by the file's name, so that the record of a file says which, whatever folder it lay in.
    """
    if path.endswith(".lua"):
        workload: Workload = script_of(file.name, file.content)
        return NamedWorkload(file.name, "the user's own sysbench script", workload, file)
    parse_statements(file.content, path)
    return NamedWorkload(file.name, "the user's own statements", Statements(text=file.content), file)


def with_options(named: NamedWorkload, given: Mapping[str, OptionValue]) -> NamedWorkload:
    """A workload with some of its options set otherwise. Raises SandboxError (exit 2)."""
    return replace(named, workload=named.workload.with_options(given)) if given else named

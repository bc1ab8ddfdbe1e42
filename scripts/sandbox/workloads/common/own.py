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
    """The workload of a file; ``path`` as the user typed it. Raises SandboxError (exit 2) for an invalid file.

    It is named after the file, so that the record identifies it, whatever folder it is in.
    """
    if path.endswith(".lua"):
        workload: Workload = script_of(file.name, file.content)
        return NamedWorkload(file.name, "the user's own sysbench script", workload, file)
    parse_statements(file.content, path)
    return NamedWorkload(file.name, "the user's own statements", Statements(text=file.content), file)


def with_options(named: NamedWorkload, given: Mapping[str, OptionValue]) -> NamedWorkload:
    """A workload with some of its options changed. Raises SandboxError (exit 2)."""
    return replace(named, workload=named.workload.with_options(given)) if given else named

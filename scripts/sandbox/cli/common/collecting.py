"""The evidence of a stack as a command takes it: of which nodes, into which archive, what is
printed.
"""

import platform
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from sandbox import __version__
from sandbox.cli.common.running import read_stack
from sandbox.cli.common.showing import document_lines, show
from sandbox.cli.console import ProgressDisplay
from sandbox.collect.archive import SUFFIX
from sandbox.collect.collect import CollectedEvidence, collect
from sandbox.collect.plan import CollectOptions
from sandbox.collect.readme import by_folder, by_reason
from sandbox.core.errors import MachineError, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.measure.execute import tool_commit
from sandbox.profile.compose import compose_document, compose_text, plan_hash
from sandbox.profile.plan import Plan
from sandbox.profile.templates import PLACEHOLDER
from sandbox.report.plan import plan_document
from sandbox.report.text import text_table, wrapped
from sandbox.stack.naming import name_option
from sandbox.stack.planning import planned
from sandbox.stack.stack import Stack
from sandbox.stack.upgrade import request_of

_PATIENCE_S = 5.0
_NAMED = 3
"""So many files that could not be had are named."""


def collect_evidence(
    name: str | None,
    nodes: str | None,
    *,
    with_stacks: bool,
    core: bool,
    out: str | None,
    as_json: bool,
) -> None:
    """Takes it and prints where it is, what is in it, and what could not be had."""
    chosen = tuple(filter(None, re.split(r"[,\s]+", nodes or "")))
    options = CollectOptions(chosen, with_stacks, core)
    with ProgressDisplay("collect") as progress, read_stack(name, progress) as stack:
        archive = _archive(out, stack.name)
        found = collect(stack, archive, options, progress, also=lambda: _also(stack))
    show(as_json, _data(found), _lines(found))


def _archive(out: str | None, stack: str) -> Path:
    """The archive's path. Raises SandboxError (exit 2) for one whose folder is not there."""
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-evidence-{stack}{SUFFIX}"
    if out is None:
        return RESULTS / name
    path = Path(out)
    if path.is_dir():
        return path / name
    if not path.name.endswith(SUFFIX):
        what = f"OUT={out} is neither a folder nor an archive"
        known = f"an archive's name ends in {SUFFIX}"
        raise SandboxError(what, known, f"try: make collect OUT={out.rstrip('/')}{SUFFIX}")
    if not path.parent.is_dir():
        what = f"OUT={out} cannot be written"
        raise SandboxError(what, f"there is no folder {path.parent}", "try: make collect OUT=.")
    return path


def _also(stack: Stack) -> dict[str, str]:
    """What the tool itself knows: its version, and the stack's plan and Compose file, made anew."""
    commit = tool_commit()
    client = stack.docker.answer("version", timeout_s=_PATIENCE_S)
    compose = stack.docker.answer("compose", "version", timeout_s=_PATIENCE_S)
    versions = [
        f"sandbox {__version__}" + (f" ({commit})" if commit else ""),
        f"Python {platform.python_version()} on {platform.platform()}",
        (compose.stdout or compose.stderr).strip(),
        (client.stdout or client.stderr).strip(),
    ]
    files = {"versions.txt": "\n".join(versions) + "\n"}
    try:
        plan = _planned_again(stack)
    except SandboxError as problem:
        text = f"the plan cannot be made again: {problem.what}: {problem.known}\n"
        return files | {"plan.txt": text}
    return files | _of_plan(stack, plan)


def _planned_again(stack: Stack) -> Plan:
    """The plan of the stack by its profile and inputs. SandboxError where it cannot be made."""
    servers = [each for each in stack.members if each.is_server]
    if stack.inputs.cnf_name or stack.inputs.cnf_files:
        servers = [each for each in servers if each.running]
    if not servers:
        what = "no server runs"
        known = "the files of CNF= are read back from one"
        raise MachineError(what, known, f"try: make start{name_option(stack.name)}")
    return planned(request_of(stack, servers[0]), docker=stack.docker)


def _of_plan(stack: Stack, plan: Plan) -> dict[str, str]:
    made, started = plan_hash(plan), stack.plan
    note = "" if made == started else f", not the one of the running stack ({started})"
    head = f"# Made again from profile and inputs: plan {made}{note}. Passwords are placeholders.\n"
    text = compose_text(compose_document(plan, PLACEHOLDER, stack.identity))
    lines = document_lines(plan_document(plan, True))
    return {"compose.yaml": head + text, "plan.txt": "\n".join(lines) + "\n"}


def _data(found: CollectedEvidence) -> Mapping[str, object]:
    return {
        "archive": str(found.archive),
        "bytes": found.length,
        "seconds": round(found.seconds, 1),
        "files": found.files,
        "missing": found.missing,
    }


def _lines(found: CollectedEvidence) -> Iterator[str]:
    yield f"{found.archive}   {_size(found.length)}, {found.seconds:.1f} s"
    yield ""
    rows = [
        (folder, str(files), _size(length), str(without or ""))
        for folder, files, length, without in by_folder(found.files, found.missing, found.nodes)
    ]
    yield from text_table(("node", "files", "size", "not had"), rows)
    if found.missing:
        yield ""
        yield "not had"
        for paths, reason in by_reason(found.missing):
            yield from wrapped(reason, f"  {_paths(paths)}: ", "      ")


def _paths(paths: list[str]) -> str:
    """Some paths, or the first of many and their number: README.txt has all."""
    return ", ".join(paths) if len(paths) <= _NAMED else f"{paths[0]} and {len(paths) - 1} more"


def _size(length: int) -> str:
    """``1.2 MB``, ``340 KB``, ``12 bytes``."""
    if length >= 1e6:
        return f"{length / 1e6:.1f} MB"
    return f"{length / 1e3:.0f} KB" if length >= 1e3 else f"{length} bytes"

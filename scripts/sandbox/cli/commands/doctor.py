"""doctor: every prerequisite with its state and the fix."""

from dataclasses import asdict

from sandbox.cli.common.options import Json
from sandbox.cli.common.showing import show
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode
from sandbox.report.text import wrapped
from sandbox.stack.doctor import Check, examine
from sandbox.stack.engine import Docker

ABOUT = About(group="look first", after="lock", needs_engine=False)


def command(json: Json = False) -> int:
    """Print every prerequisite with its state and the fix."""
    findings = examine(Docker())
    show(
        json,
        [asdict(each) for each in findings],
        (line for each in findings for line in _lines(each)),
    )
    missing = any(each.state == "missing" for each in findings)
    return int(ExitCode.ENVIRONMENT if missing else ExitCode.OK)


def _lines(check: Check) -> list[str]:
    """One prerequisite for a terminal of 100 columns; the fix on its own lines."""
    head, indent = f"{check.name:<11}{check.state:<9}", " " * 20
    return [
        *(wrapped(check.detail, head) or [head]),
        *wrapped(check.fix or "", f"{indent}fix: ", indent),
    ]

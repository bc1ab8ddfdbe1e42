"""clock-skew: the wall clock of a node is wrong."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.failure.fault import SETTING_OF, Ability, Fault, Scene, soon
from sandbox.failure.faults.common.node import answer, has_processes, inside
from sandbox.stack.control import asking
from sandbox.stack.protocol import NodeControl

# Source: libfaketime 0.9.10, README, 4a (FAKETIME_TIMESTAMP_FILE) and 4d: a sign and seconds; no
# file, no offset.
_OFFSET = "/run/sandbox-clock/offset"
_SETTING = SETTING_OF["faketime"]
_NO_SUCH_QUESTION = 2  # exit status of /sandbox/probe
_TOLERANCE_S = 0.5  # the server's client takes time, too
_BOTH_CLOCKS = f"""\
server=$({asking("select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))")}) || exit
echo "$server $(date +%s.%N)"
"""


class ClockSkew(Fault):
    """The wall clock of its server is ahead or behind, by an offset; waits last as long as ever."""

    needs: ClassVar[frozenset[Ability]] = frozenset({"faketime"})
    heals_inside: ClassVar[bool] = True
    skew_s: float = Field(
        default=60.0,
        ge=-86_400,
        le=86_400,
        description="seconds by which it is ahead; negative: behind",
    )

    @field_validator("skew_s")
    @classmethod
    def _can_be_measured(cls, skew_s: float) -> float:
        if abs(skew_s) < 2 * _TOLERANCE_S:
            raise PydanticCustomError(
                "too_small", "at least 1 s ahead or behind is expected: less cannot be measured"
            )
        return skew_s

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        result = answer(node, f"sh /sandbox/probe proof-{_SETTING}")
        proof = result.stdout.strip()
        if result.code == _NO_SUCH_QUESTION:
            raise _skipped(
                f"{node.name} has the clock of its host",
                f"it is not started with the setting {_SETTING}",
            )
        if proof != "preloaded":
            raise _skipped(
                f"the server of {node.name} takes no other clock", proof or result.last_error
            )
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        # Never read half written.
        script = f"echo {self.skew_s:+} >{_OFFSET}.new && mv {_OFFSET}.new {_OFFSET}"
        inside(node, script, f"setting the clock of {node.name}")

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: self._missing(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        if has_processes(node):  # the file is in memory, and went with a container that ended
            inside(node, f"rm -f {_OFFSET}", f"setting the clock of {node.name} right")

    def _missing(self, node: NodeControl) -> str | None:
        result = answer(node, _BOTH_CLOCKS)
        if result.code:
            return result.last_error or f"exit code {result.code}"
        server_us, host_s = result.stdout.split()
        ahead_s = int(server_us) / 1e6 - float(host_s)
        return (
            None
            if abs(ahead_s - self.skew_s) <= _TOLERANCE_S
            else f"its clock is {ahead_s:+.3f} s from the host's"
        )


def _skipped(reason: str, known: str) -> SandboxError:
    step = f"try: make up PROFILE=mysql@9.7+{_SETTING}"
    return SandboxError(f"the fault clock-skew is skipped: {reason}", known, step, ExitCode.UNKNOWN)

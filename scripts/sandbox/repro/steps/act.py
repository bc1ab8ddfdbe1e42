"""act: what an operator does, such as a switchover, to its end."""

import re
from typing import ClassVar

from pydantic import model_validator

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.failure.action import ActionRefusedError, Operation, action_named
from sandbox.record.repro import StepRecord
from sandbox.repro.step import AskedStep, Stage, StepError, record_of


class ActStep(AskedStep):
    """An action on a target (the writer), until it is done or refused.

    One with a name may fail; that it did is its error, without a code.
    """

    value_is: ClassVar[str] = "an action and its target: join one-reader"
    not_in_pack: ClassVar[str | None] = "an action is a program of this tool"
    shape: ClassVar["re.Pattern[str]"] = re.compile(
        r"(?P<action>[a-z][a-z-]*)(?:\s+(?P<target>[\w-]+))?"
    )

    @model_validator(mode="after")
    def _is_known(self) -> "ActStep":
        try:
            action_named(self.parts["action"], self.options)
        except SandboxError as error:
            raise ValueError(f"{error.what}; {error.known}") from error
        return self

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        nodes = stage.hit(self.parts["target"] or "writer")
        servers = [server for server in stage.servers() if server.has_container]
        operation = Operation(stage.stack, stage.client, servers, nodes)
        problem = None
        try:
            action_named(self.parts["action"], self.options).perform(operation)
        except ActionRefusedError as refused:
            problem = f"{refused.what}: {refused.known}"
        except SandboxError as error:
            if self.name is None or error.exit_code is ExitCode.INTERRUPTED:
                raise StepError(f"{error.what}: {error.known}") from error
            problem = f"{error.what}: {error.known}"
        record = record_of(stage, number, self.text, name=self.name, node=", ".join(nodes))
        changes: dict[str, object] = {"began_ms": began_ms, "problem": problem}
        if problem is not None:
            changes |= {"error_code": 0, "error": problem}
        return record.model_copy(update=changes)

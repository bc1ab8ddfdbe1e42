"""mysqltest: a .test file, run by the mysqltest of the server's own package."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from sandbox.record.repro import StepRecord
from sandbox.repro.mysqltest import outcome_of, result_paths
from sandbox.repro.mysqltest_run import Mysqltest, image_of, run_test
from sandbox.repro.step import ReproStep, Stage, StepError, record_of
from sandbox.repro.wanted import Length
from sandbox.stack.protocol import StackNode

_MOST_LINES = 200
"""Of the output, in the record: a test without a result prints all that it does."""


class MysqltestStep(ReproStep):
    """A test of the servers' own language. Its server 1 is the first of ``servers``."""

    value_is: ClassVar[str] = "the path of a .test file"
    not_in_pack: ClassVar[str | None] = (
        "mysqltest is in a package of its own, not in the server's image"
    )
    path: str = Field(alias="value", min_length=1)
    servers: list[str] = Field(default_factory=list)
    """The nodes that are its servers 1, 2, …; none: every server, in order."""
    result: str | None = None
    """Path of the result that it must have; none: the one that stands beside it, if any."""
    compare: bool = True
    """Whether what it prints is compared with a result."""
    let: dict[str, str] = Field(default_factory=dict)
    """Variables of the test, beside those that the server's own test driver gives."""
    within: Length = Field(default=600.0, gt=0)

    @field_validator("path")
    @classmethod
    def _is_test(cls, path: str) -> str:
        if not path.endswith(".test"):
            raise ValueError(f"{path} is no .test file")
        return path

    @property
    def text(self) -> str:
        return f"{self.head}: {self.path}"

    @property
    def files(self) -> Sequence[str]:
        return [self.path, *([self.result] if self.result else [])]

    def images_for(self, family: str, version: str) -> Sequence[str]:
        return [image_of(family, version)]

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        servers = self._servers(stage)
        test = Mysqltest(Path(self.path), self._result(), self.let, self.within)
        code, lines = run_test(stage, servers, test)
        record = record_of(
            stage,
            number,
            self.text,
            name=self.name,
            node=", ".join(server.name for server in servers),
            rows=[[[line] for line in lines[-_MOST_LINES:]]],
        )
        if code is None:
            changes = {"ended_ms": None, "problem": f"not ended after {self.within:g} s"}
            return record.model_copy(update={"began_ms": began_ms, **changes})
        outcome = outcome_of(code, lines)
        if outcome.skipped is not None:
            raise StepError(f"the test says that it cannot run here: {outcome.skipped}")
        came = {
            "began_ms": began_ms,
            "error": outcome.error,
            "error_code": outcome.error_code,
            "problem": outcome.error,
        }
        return record.model_copy(update=came)

    def _servers(self, stage: Stage) -> list[StackNode]:
        known = {server.name: server for server in stage.servers()}
        names = self.servers or list(known)
        if self.place:
            first = stage.node(self.place)
            names = [first, *(name for name in names if name != first)]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise StepError(f"{unknown[0]} is no server: {', '.join(known)}")
        return [known[name] for name in names]

    def _result(self) -> Path | None:
        if not self.compare:
            return None
        if self.result is not None:
            return Path(self.result)
        beside = map(Path, result_paths(self.path))
        return next((each for each in beside if each.is_file()), None)

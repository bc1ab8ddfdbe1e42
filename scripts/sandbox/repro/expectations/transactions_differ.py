"""transactions-differ: a GTID stands for different changes on two servers."""

import re
from typing import ClassVar

from pydantic import Field

from sandbox.consistency.oracle import compare_stack
from sandbox.consistency.verdict import on_transactions
from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage
from sandbox.repro.wanted import ANY, Length


class TransactionsDifferExpectation(Expectation):
    """Binary logs hold different changes under the same GTID."""

    value_is: ClassVar[str] = "any, or a regular expression that the GTID has"
    pattern: str = Field(alias="value", min_length=1)
    within: Length = Field(default=10.0, ge=0.1)
    """How long the servers have to come to one position."""

    @property
    def text(self) -> str:
        return f"{self.head}: {self.pattern}"

    def looked(self, stage: Stage) -> Looked:
        found = compare_stack(stage.stack, stage.client, [stage.schema], self.within)
        if not found:
            return Looked(None, "there is one server")
        verdict, seen = on_transactions(found)
        if verdict == "fail" and self.pattern != ANY:
            gtids = [each.gtid for record in found for each in record.transactions]
            return Looked(any(re.search(self.pattern, gtid) for gtid in gtids), seen)
        return Looked({"fail": True, "pass": False}.get(verdict), seen)

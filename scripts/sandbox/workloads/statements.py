"""The user's own statements, drawn by weight; a transaction is one statement, or everything from BEGIN to COMMIT."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from sandbox.results.record import PreparationRecord
from sandbox.workloads.common import prepared
from sandbox.workloads.common.model import DataNeed, Parameters, Session
from sandbox.workloads.common.python_load import PythonLoad
from sandbox.workloads.common.shipping import folder_of, ship
from sandbox.workloads.common.statement_file import parse_statements
from sandbox.workloads.sysbench import PREPARE_OLTP, Sysbench

FILE = "statements.json"


class Statements(PythonLoad):
    """``text``: the file as the user wrote it. The tables it needs exist already, or are sysbench's."""

    scenario: ClassVar[str] = "statements"
    text: str = Field(exclude=True)
    data: Literal["none", "oltp"] = Field(
        default="none", description="none: its tables exist already; oltp: sysbench's sbtest1 … by TABLES and ROWS"
    )

    @property
    def uses(self) -> frozenset[str]:
        """The size of sysbench's tables, where it uses them."""
        return super().uses | ({"tables", "rows_per_table"} if self.data == "oltp" else set())

    def wanted(self, parameters: Parameters) -> prepared.Prepared | None:  # noqa: ARG002  (the shape of a workload)
        """It makes no data of its own."""
        return None

    def data_needed(self, parameters: Parameters) -> DataNeed | None:
        """Sysbench's tables, where it uses them."""
        return None if self.data == "none" else Sysbench(script=PREPARE_OLTP).data_needed(parameters)

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the statements too, and makes sysbench's tables where ``data`` says so."""
        super().prepare(session, log)
        ship(session.stack, session.client, self._files)
        if self.data == "none":
            return None
        return Sysbench(script=PREPARE_OLTP).prepare(session, log)

    def scenario_options(self, session: Session) -> dict[str, Any]:  # noqa: ARG002  (the shape of a workload)
        """Path of the statements in the client node."""
        return {"file": f"{folder_of(self._files)}/{FILE}"}

    @property
    def _files(self) -> dict[str, str]:
        return {FILE: json.dumps([asdict(unit) for unit in parse_statements(self.text, "the file")])}

"""TPC-C's five transactions in the specified mix, unthrottled; own code, not comparable with
published results.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import yaml
from pydantic import Field

from sandbox.load.common.sysbench_load import LuaLoad
from sandbox.load.common.workload import Parameters, PreparedData, Progress, Session, ask_writer
from sandbox.record.record import CheckRecord, PreparationRecord, Verdict

PREFIX = "tpcc_"
TABLES = (
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
)
DISTRICTS = 10
"""Of each warehouse."""

_CONDITIONS = yaml.safe_load(
    files(__package__).joinpath("conditions.yaml").read_text(encoding="utf-8")
)
CONDITIONS = {name: (each["holds"], each["broken"]) for name, each in _CONDITIONS.items()}
"""Name → the condition that must hold, and the query for the rows that break it."""

CHECK_LIMIT_S = 300.0

_GROWN = "SELECT SUM(d_next_o_id - 1), COUNT(*) FROM tpcc_district"


class Tpcc(LuaLoad):
    """Data is reused from run to run until it has grown by more than ``growth_percent``."""

    commands: ClassVar[tuple[str, ...]] = ("create", "fill")
    warehouses: int = Field(default=1, ge=1, le=10_000, description="warehouses, about 100 MB each")
    customers: int = Field(
        default=3000,
        ge=30,
        le=3000,
        description="customers of a district, and its initial orders; specified: 3000",
    )
    items: int = Field(
        default=100_000,
        ge=100,
        le=100_000,
        description="items of every warehouse; specified: 100000",
    )
    growth_percent: int = Field(
        default=20,
        ge=0,
        le=10_000,
        description="percentage of new orders after which the data is made again",
    )

    def data_needed(self, parameters: Parameters) -> PreparedData:  # noqa: ARG002  (the shape of a workload)
        """Nine tables.

        A stock row for each item; for each customer, its own row, a history row, an order and its
        ten lines.
        """
        details = (
            f"{self.warehouses} warehouses, {self.customers} customers a district, {self.items}"
            " items"
        )
        rows = self.items + self.warehouses * (self.items + DISTRICTS * self.customers * (3 + 10))
        return PreparedData("tpcc", len(TABLES), None, details, PREFIX, rows)

    def fit(self, session: Session) -> bool:
        """Whether the data has not grown too much: each new order adds about ten rows."""
        answer = ask_writer(session, _GROWN, timeout_s=30)
        if answer.error or not answer.rows(0):
            return False
        orders, districts = (float(str(cell)) for cell in answer.rows(0)[0])
        grown = 100 * (orders / (districts * self.customers) - 1)
        if grown > self.growth_percent:
            session.on_event(
                Progress("prepare", f"data has grown by {grown:.0f}%: making it again")
            )
        return grown <= self.growth_percent

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Prepares the data as every load does; new tables are analyzed."""
        record = super().prepare(session, log)
        if record and not record.reused:
            names = ", ".join(PREFIX + name for name in TABLES)
            ask_writer(session, f"ANALYZE TABLE {names}", timeout_s=CHECK_LIMIT_S)
        return record

    def check(self, session: Session) -> Sequence[CheckRecord]:
        """Conditions 1 to 4, with a verdict for each."""
        checks = []
        for name, (text, query) in CONDITIONS.items():
            answer = ask_writer(session, query, timeout_s=CHECK_LIMIT_S)
            broken = answer.rows(0)
            verdict: Verdict = "pass"
            detail = text
            if answer.error:
                verdict = "unknown"
                detail = answer.error
            elif broken:
                verdict = "fail"
                where = "; ".join("/".join(map(str, row)) for row in broken[:5])
                detail = f"{len(broken)} violations of: {text}; first {where}"
            checks.append(CheckRecord(name=name, verdict=verdict, detail=detail))
        return checks

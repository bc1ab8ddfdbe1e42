"""TPC-C's five transactions in the specified mix, unthrottled; own code, not comparable with published results."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from sandbox.results.record import CheckRecord, PreparationRecord
from sandbox.workloads.common.lua_load import LuaLoad
from sandbox.workloads.common.model import Parameters, PreparedData, Progress, Session
from sandbox.workloads.common.sql import ask_writer

PREFIX = "tpcc_"
TABLES = ("warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock")
DISTRICTS = 10
"""Of each warehouse."""

CONDITIONS = {
    "tpcc_consistency_1": (
        "the year-to-date sum of every warehouse is that of its districts",
        "SELECT w_id FROM tpcc_warehouse JOIN"
        " (SELECT d_w_id, SUM(d_ytd) AS total FROM tpcc_district GROUP BY d_w_id) AS districts"
        " ON d_w_id = w_id WHERE w_ytd <> total",
    ),
    "tpcc_consistency_2": (
        "the next order number follows the last order and the last new order",
        "SELECT d_w_id, d_id FROM tpcc_district"
        " JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM tpcc_orders GROUP BY o_w_id, o_d_id) AS made"
        " ON o_w_id = d_w_id AND o_d_id = d_id"
        " LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_new FROM tpcc_new_order"
        " GROUP BY no_w_id, no_d_id) AS fresh ON no_w_id = d_w_id AND no_d_id = d_id"
        # A district whose orders are all delivered has no last new order.
        " WHERE d_next_o_id - 1 <> last_order OR last_new <> last_order",
    ),
    "tpcc_consistency_3": (
        "new orders are numbered without gaps",
        "SELECT no_w_id, no_d_id FROM tpcc_new_order GROUP BY no_w_id, no_d_id"
        " HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    "tpcc_consistency_4": (
        "every order has as many lines as it states",
        "SELECT o_w_id, o_d_id FROM"
        " (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS said FROM tpcc_orders GROUP BY o_w_id, o_d_id) AS made"
        " LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS there FROM tpcc_order_line"
        " GROUP BY ol_w_id, ol_d_id) AS line_count ON ol_w_id = o_w_id AND ol_d_id = o_d_id"
        " WHERE said <> COALESCE(there, 0)",
    ),
}
"""Consistency conditions 1 to 4 (specification 5.11, clauses 3.3.2.1 to 3.3.2.4): rows that break them."""

CHECK_LIMIT_S = 300.0

_GROWN = "SELECT SUM(d_next_o_id - 1), COUNT(*) FROM tpcc_district"


class Tpcc(LuaLoad):
    """Data is reused from run to run until it has grown by more than ``growth_percent``."""

    commands: ClassVar[tuple[str, ...]] = ("create", "fill")
    warehouses: int = Field(default=1, ge=1, le=10_000, description="warehouses, about 100 MB each")
    customers: int = Field(
        default=3000, ge=30, le=3000, description="customers of a district, and its initial orders; specified: 3000"
    )
    items: int = Field(default=100_000, ge=100, le=100_000, description="items of every warehouse; specified: 100000")
    growth_percent: int = Field(
        default=20, ge=0, le=10_000, description="percentage of new orders after which the data is made again"
    )

    def data_needed(self, parameters: Parameters) -> PreparedData:  # noqa: ARG002  (the shape of a workload)
        """Nine tables.

        A stock row for each item; for each customer, its own row, a history row, an order and its ten lines.
        """
        details = f"{self.warehouses} warehouses, {self.customers} customers a district, {self.items} items"
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
            session.on_event(Progress("prepare", f"data has grown by {grown:.0f}%: making it again"))
        return grown <= self.growth_percent

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """As in every Python load; new tables are analyzed."""
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
            if answer.error:
                checks.append(CheckRecord(name=name, verdict="unknown", detail=answer.error))
            elif broken:
                where = "; ".join("/".join(map(str, row)) for row in broken[:5])
                detail = f"{len(broken)} violations of: {text}; first {where}"
                checks.append(CheckRecord(name=name, verdict="fail", detail=detail))
            else:
                checks.append(CheckRecord(name=name, verdict="pass", detail=text))
        return checks

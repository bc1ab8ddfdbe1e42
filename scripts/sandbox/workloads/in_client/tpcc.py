"""The five transactions of TPC-C (specification 5.11, clauses 2.4 to 2.8), without keying and think times."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from sandbox.workloads.in_client import tpcc_random as tpcc
from sandbox.workloads.in_client.connection import Connection, Row
from sandbox.workloads.in_client.scenario import ExpectedRollbackError, Job, Scenario
from sandbox.workloads.in_client.tpcc_data import HISTORY_COLUMNS, prepare
from sandbox.workloads.in_client.tpcc_schema import DISTRICTS

__all__ = ["make", "prepare"]

_LONGEST_CUSTOMER_DATA = 500


@dataclass(frozen=True)
class OrderLine:
    """The contents of one line of a new order."""

    item: int
    supplier: int
    quantity: int


class TpccScenario(Scenario):
    """A terminal: its home warehouse, and a deck of transactions dealt to the end before it is shuffled again."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._warehouses: int = self.options["warehouses"]
        self._customers: int = self.options["customers"]
        self._items: int = self.options["items"]
        self._home = job.number % self._warehouses + 1
        self._deck: list[str] = []

    def draw(self) -> tuple[str, Callable[[], None]]:
        if not self._deck:
            self._deck = self.random.sample(tpcc.DECK, len(tpcc.DECK))
        kind = self._deck.pop()
        make_transaction: Callable[[], Callable[[], None]] = getattr(self, f"_draw_{kind}")
        return kind, make_transaction()

    def _draw_new_order(self) -> Callable[[], None]:
        draw = self.random
        district, customer = draw.randint(1, DISTRICTS), tpcc.customer_id(draw, self._customers)
        lines = [self._draw_line() for _ in range(draw.randint(5, 15))]
        if tpcc.rolled_back(draw):
            lines[-1] = OrderLine(self._items + 1, lines[-1].supplier, lines[-1].quantity)
        return partial(new_order, self.connection, self._home, district, customer, lines)

    def _draw_line(self) -> OrderLine:
        draw = self.random
        supplier = tpcc.supply_warehouse(draw, self._home, self._warehouses)
        return OrderLine(tpcc.item_id(draw, self._items), supplier, draw.randint(1, 10))

    def _draw_payment(self) -> Callable[[], None]:
        draw = self.random
        district = draw.randint(1, DISTRICTS)
        home = tpcc.paying_customer_home(draw, self._home, district, self._warehouses)
        amount = Decimal(draw.randint(100, 500_000)) / 100
        return partial(payment, self.connection, self._home, district, home, self._draw_customer(), amount)

    def _draw_customer(self) -> int | str:
        """A customer by number, or by name."""
        if tpcc.by_last_name(self.random):
            return tpcc.name_of_run(self.random, self._customers)
        return tpcc.customer_id(self.random, self._customers)

    def _draw_order_status(self) -> Callable[[], None]:
        district = self.random.randint(1, DISTRICTS)
        return partial(order_status, self.connection, (self._home, district), self._draw_customer())

    def _draw_delivery(self) -> Callable[[], None]:
        return partial(delivery, self.connection, self._home, self.random.randint(1, 10))

    def _draw_stock_level(self) -> Callable[[], None]:
        """Each terminal has one district (clause 2.8.1.1)."""
        district = self.job.number // self._warehouses % DISTRICTS + 1
        return partial(stock_level, self.connection, self._home, district, self.random.randint(10, 20))


def make(job: Job) -> Scenario:
    """Every thread is a terminal."""
    return TpccScenario(job)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)


def new_order(connection: Connection, warehouse: int, district: int, customer: int, lines: list[OrderLine]) -> None:
    """Clause 2.4.2. Raises ExpectedRollbackError where the last item does not exist."""
    home = (warehouse, district)
    connection.begin()
    connection.read("SELECT w_tax FROM tpcc_warehouse WHERE w_id = %s", (warehouse,))
    ((_, order),) = connection.read(
        "SELECT d_tax, d_next_o_id FROM tpcc_district WHERE d_w_id = %s AND d_id = %s FOR UPDATE", home
    )
    connection.write("UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %s AND d_id = %s", home)
    connection.read(
        "SELECT c_discount, c_last, c_credit FROM tpcc_customer WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
        (*home, customer),
    )
    all_local = int(all(line.supplier == warehouse for line in lines))
    connection.write(
        "INSERT INTO tpcc_orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (order, district, warehouse, customer, _now(), len(lines), all_local),
    )
    connection.write("INSERT INTO tpcc_new_order VALUES (%s, %s, %s)", (order, district, warehouse))
    for number, line in enumerate(lines, start=1):
        _order_line(connection, (order, district, warehouse, number), line)
    connection.commit()


def _order_line(connection: Connection, key: tuple[int, int, int, int], line: OrderLine) -> None:
    """One line of an order: price, stock, and the line itself."""
    _, district, warehouse, _ = key
    found = connection.read("SELECT i_price, i_name, i_data FROM tpcc_item WHERE i_id = %s", (line.item,))
    if not found:
        connection.rollback()
        raise ExpectedRollbackError
    stock = (line.supplier, line.item)
    ((quantity, dist_info, _),) = connection.read(
        f"SELECT s_quantity, s_dist_{district:02d}, s_data FROM tpcc_stock"  # noqa: S608  (a number of our own)
        " WHERE s_w_id = %s AND s_i_id = %s FOR UPDATE",
        stock,
    )
    left = quantity - line.quantity if quantity >= line.quantity + 10 else quantity - line.quantity + 91
    connection.write(
        "UPDATE tpcc_stock SET s_quantity = %s, s_ytd = s_ytd + %s, s_order_cnt = s_order_cnt + 1,"
        " s_remote_cnt = s_remote_cnt + %s WHERE s_w_id = %s AND s_i_id = %s",
        (left, line.quantity, int(line.supplier != warehouse), *stock),
    )
    amount = line.quantity * found[0][0]
    connection.write(
        "INSERT INTO tpcc_order_line VALUES (%s, %s, %s, %s, %s, %s, NULL, %s, %s, %s)",
        (*key, line.item, line.supplier, line.quantity, amount, dist_info),
    )


def payment(
    connection: Connection,
    warehouse: int,
    district: int,
    customer_home: tuple[int, int],
    customer: int | str,
    amount: Decimal,
) -> None:
    """Clause 2.5.2. ``customer_home``: warehouse and district of the paying customer."""
    home = (warehouse, district)
    connection.begin()
    connection.write("UPDATE tpcc_warehouse SET w_ytd = w_ytd + %s WHERE w_id = %s", (amount, warehouse))
    ((warehouse_name, *_),) = connection.read(
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM tpcc_warehouse WHERE w_id = %s",
        (warehouse,),
    )
    connection.write("UPDATE tpcc_district SET d_ytd = d_ytd + %s WHERE d_w_id = %s AND d_id = %s", (amount, *home))
    ((district_name, *_),) = connection.read(
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM tpcc_district"
        " WHERE d_w_id = %s AND d_id = %s",
        home,
    )
    number = customer if isinstance(customer, int) else _customer_of_name(connection, customer_home, customer)
    key = (*customer_home, number)
    ((credit, data),) = connection.read(
        "SELECT c_credit, c_data FROM tpcc_customer WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s FOR UPDATE", key
    )
    if credit == "BC":
        text = f"{number} {customer_home[1]} {customer_home[0]} {district} {warehouse} {amount} | {data}"
        data = text[:_LONGEST_CUSTOMER_DATA]
    connection.write(
        "UPDATE tpcc_customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s,"
        " c_payment_cnt = c_payment_cnt + 1, c_data = %s WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
        (amount, amount, data, *key),
    )
    connection.write(
        f"INSERT INTO tpcc_history ({HISTORY_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608
        (number, *reversed(customer_home), *reversed(home), _now(), amount, f"{warehouse_name}    {district_name}"),
    )
    connection.commit()


def _customer_of_name(connection: Connection, home: tuple[int, int], name: str) -> int:
    rows = connection.read(
        "SELECT c_id FROM tpcc_customer WHERE c_w_id = %s AND c_d_id = %s AND c_last = %s ORDER BY c_first",
        (*home, name),
    )
    return int(tpcc.middle(rows)[0])


def order_status(connection: Connection, home: tuple[int, int], customer: int | str) -> None:
    """Clause 2.6.2: a customer's last order and its lines."""
    connection.begin()
    number = customer if isinstance(customer, int) else _customer_of_name(connection, home, customer)
    connection.read(
        "SELECT c_balance, c_first, c_middle, c_last FROM tpcc_customer"
        " WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
        (*home, number),
    )
    orders = connection.read(
        "SELECT o_id, o_entry_d, o_carrier_id FROM tpcc_orders WHERE o_w_id = %s AND o_d_id = %s AND o_c_id = %s"
        " ORDER BY o_id DESC LIMIT 1",
        (*home, number),
    )
    connection.read(
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM tpcc_order_line"
        " WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id = %s",
        (*home, orders[0][0]),
    )
    connection.commit()


def delivery(connection: Connection, warehouse: int, carrier: int) -> None:
    """Clause 2.7.4: the oldest new order of each district; a district without one is skipped."""
    connection.begin()
    for district in range(1, DISTRICTS + 1):
        home = (warehouse, district)
        oldest = connection.read(
            "SELECT no_o_id FROM tpcc_new_order WHERE no_w_id = %s AND no_d_id = %s"
            " ORDER BY no_o_id LIMIT 1 FOR UPDATE",
            home,
        )
        if oldest:
            _deliver(connection, (*home, oldest[0][0]), carrier)
    connection.commit()


def _deliver(connection: Connection, key: tuple[int, int, Any], carrier: int) -> None:
    """One order: no longer new, carried, its lines dated, its customer charged."""
    warehouse, district, _ = key
    order = "o_w_id = %s AND o_d_id = %s AND o_id = %s"
    lines = "ol_w_id = %s AND ol_d_id = %s AND ol_o_id = %s"
    connection.write("DELETE FROM tpcc_new_order WHERE no_w_id = %s AND no_d_id = %s AND no_o_id = %s", key)
    ((customer,),) = connection.read(f"SELECT o_c_id FROM tpcc_orders WHERE {order}", key)  # noqa: S608
    connection.write(f"UPDATE tpcc_orders SET o_carrier_id = %s WHERE {order}", (carrier, *key))  # noqa: S608
    connection.write(f"UPDATE tpcc_order_line SET ol_delivery_d = %s WHERE {lines}", (_now(), *key))  # noqa: S608
    ((amount,),) = connection.read(f"SELECT SUM(ol_amount) FROM tpcc_order_line WHERE {lines}", key)  # noqa: S608
    connection.write(
        "UPDATE tpcc_customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1"
        " WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
        (amount, warehouse, district, customer),
    )


def stock_level(connection: Connection, warehouse: int, district: int, threshold: int) -> None:
    """Clause 2.8.2: how many items of the last 20 orders are short in stock."""
    home: Row = (warehouse, district)
    connection.begin()
    ((upcoming,),) = connection.read("SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = %s AND d_id = %s", home)
    connection.read(
        "SELECT COUNT(DISTINCT s_i_id) FROM tpcc_order_line JOIN tpcc_stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id"
        " WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id < %s AND ol_o_id >= %s AND s_quantity < %s",
        (*home, upcoming, upcoming - 20, threshold),
    )
    connection.commit()

"""The initial data of TPC-C (specification 5.11, clause 4.3.3.1), made by several processes."""

import multiprocessing
import os
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sandbox.workloads.in_client.connection import Connection, Endpoint, Row
from sandbox.workloads.in_client.tpcc_random import Strings, name_of_load
from sandbox.workloads.in_client.tpcc_schema import DISTRICTS, PREFIX, definitions

_BATCH = 1000
_ITEMS_OF_A_UNIT = 10_000
_UNDELIVERED_SHARE = 0.3
"""2,101 to 3,000 of 3,000 orders are new (clause 4.3.3.1)."""


HISTORY_COLUMNS = "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data"
"""All but the key, which the server generates."""


@dataclass(frozen=True)
class DataUnit:
    """A piece of the data that one process makes: ``what`` is items, stock, warehouse or district."""

    what: str
    warehouse: int = 0
    district: int = 0
    first: int = 0
    last: int = 0


def first_new_order(customers: int) -> int:
    """The first order that is not delivered yet: 2,101 where there are 3,000."""
    return customers - round(customers * _UNDELIVERED_SHARE) + 1


def units_of(warehouses: int, items: int) -> list[DataUnit]:
    """All pieces, the large ones first."""
    slices = [(first, min(items, first + _ITEMS_OF_A_UNIT - 1)) for first in range(1, items + 1, _ITEMS_OF_A_UNIT)]
    homes = range(1, warehouses + 1)
    return [
        *(DataUnit("district", home, district) for home in homes for district in range(1, DISTRICTS + 1)),
        *(DataUnit("stock", home, first=first, last=last) for home in homes for first, last in slices),
        *(DataUnit("items", first=first, last=last) for first, last in slices),
        *(DataUnit("warehouse", home) for home in homes),
    ]


def prepare(target: Endpoint, options: dict[str, Any], show: Callable[[str], None]) -> None:
    """Makes tables and data; ``options``: warehouses, customers of a district, items. Raises pymysql.MySQLError."""
    connection = Connection(target)
    connection.open()
    for statement in definitions():
        connection.other(statement)
    connection.close()
    units = units_of(options["warehouses"], options["items"])
    context = multiprocessing.get_context("fork")
    with context.Pool(min(len(units), 2 * (os.cpu_count() or 1))) as pool:
        jobs = ((target, unit, options["customers"], options["items"]) for unit in units)
        for done, _ in enumerate(pool.imap_unordered(_make_unit, jobs), start=1):
            if 10 * done // len(units) > 10 * (done - 1) // len(units):
                show(f"{100 * done // len(units)}% of the data created")


def _make_unit(job: tuple[Endpoint, DataUnit, int, int]) -> None:
    target, unit, customers, items = job
    connection = Connection(target)
    connection.open()
    maker = Maker(unit, customers, items)
    for table, rows in maker.tables():
        _insert(connection, table, rows)
    connection.close()


def _insert(connection: Connection, table: str, rows: Iterable[Row]) -> None:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        one = "(" + ",".join(["%s"] * len(batch[0])) + ")"
        values = tuple(value for row in batch for value in row)
        columns = f"({HISTORY_COLUMNS})" if table == "history" else ""
        connection.write(f"INSERT INTO {PREFIX}{table} {columns} VALUES {','.join([one] * len(batch))}", values)  # noqa: S608


class Maker:
    """Rows of one piece; the same piece has the same rows each time, except for timestamps."""

    def __init__(self, unit: DataUnit, customers: int, items: int) -> None:
        self._unit, self._customers, self._items = unit, customers, items
        self._draw = random.Random(f"{unit}")  # noqa: S311  (data, no secret)
        self._strings = Strings(self._draw)
        self._now = datetime.now(UTC).replace(microsecond=0, tzinfo=None)

    def tables(self) -> Iterator[tuple[str, Iterable[Row]]]:
        """Table after table with its rows."""
        unit = self._unit
        if unit.what == "items":
            yield "item", (self._item(number) for number in range(unit.first, unit.last + 1))
        elif unit.what == "stock":
            yield "stock", (self._stock(number) for number in range(unit.first, unit.last + 1))
        elif unit.what == "warehouse":
            yield "warehouse", [self._warehouse()]
        else:
            yield "district", [self._district()]
            ids = range(1, self._customers + 1)
            yield "customer", (self._customer(number) for number in ids)
            yield "history", (self._history(number) for number in ids)
            yield from self._orders()

    def _item(self, number: int) -> Row:
        draw, strings = self._draw, self._strings
        price = draw.randint(100, 10_000) / 100
        return number, draw.randint(1, 10_000), strings.alphanumeric(14, 24), price, strings.data()

    def _stock(self, number: int) -> Row:
        strings = self._strings
        districts = (strings.alphanumeric(24) for _ in range(DISTRICTS))
        return number, self._unit.warehouse, self._draw.randint(10, 100), *districts, 0, 0, 0, strings.data()

    def _address(self) -> Row:
        strings = self._strings
        streets_and_city = (strings.alphanumeric(10, 20) for _ in range(3))
        return *streets_and_city, strings.alphanumeric(2).upper(), strings.zip_code()

    def _tax(self) -> float:
        return self._draw.randint(0, 2000) / 10_000

    def _paid(self) -> float:
        """Year to date of a district: 10.00 of every customer, 30,000.00 where there are 3,000 (condition 1)."""
        return 10.0 * self._customers

    def _warehouse(self) -> Row:
        name = self._strings.alphanumeric(6, 10)
        return self._unit.warehouse, name, *self._address(), self._tax(), DISTRICTS * self._paid()

    def _district(self) -> Row:
        unit, name = self._unit, self._strings.alphanumeric(6, 10)
        return unit.district, unit.warehouse, name, *self._address(), self._tax(), self._paid(), self._customers + 1

    def _customer(self, number: int) -> Row:
        draw, strings, unit = self._draw, self._strings, self._unit
        name = (strings.alphanumeric(8, 16), "OE", name_of_load(draw, number))
        credit = "BC" if draw.randint(1, 10) == 1 else "GC"
        account = (credit, 50_000.0, draw.randint(0, 5000) / 10_000, -10.0, 10.0, 1, 0)
        contact = (strings.numeric(16), self._now)
        key, data = (number, unit.district, unit.warehouse), strings.alphanumeric(300, 500)
        return *key, *name, *self._address(), *contact, *account, data

    def _history(self, customer: int) -> Row:
        unit = self._unit
        home = (unit.district, unit.warehouse)
        return customer, *home, *home, self._now, 10.0, self._strings.alphanumeric(12, 24)

    def _orders(self) -> Iterator[tuple[str, Iterable[Row]]]:
        """One order per customer, the customers in random order; the last 30% are not delivered yet."""
        unit, first_new = self._unit, first_new_order(self._customers)
        customers = self._draw.sample(range(1, self._customers + 1), self._customers)
        counts = [self._draw.randint(5, 15) for _ in customers]
        yield (
            "orders",
            (
                (
                    *(number, unit.district, unit.warehouse, customer, self._now),
                    *(self._draw.randint(1, 10) if number < first_new else None, lines, 1),
                )
                for number, (customer, lines) in enumerate(zip(customers, counts, strict=True), start=1)
            ),
        )
        yield (
            "order_line",
            (
                self._order_line(number, line, number < first_new)
                for number, lines in enumerate(counts, start=1)
                for line in range(1, lines + 1)
            ),
        )
        new = range(first_new, self._customers + 1)
        yield "new_order", ((number, unit.district, unit.warehouse) for number in new)

    def _order_line(self, order: int, line: int, delivered: bool) -> Row:
        draw, unit = self._draw, self._unit
        amount = 0.0 if delivered else draw.randint(1, 999_999) / 100
        return (
            *(order, unit.district, unit.warehouse, line, draw.randint(1, self._items), unit.warehouse),
            *(self._now if delivered else None, 5, amount, self._strings.alphanumeric(24)),
        )

"""TPC-C's data and transactions keep its consistency conditions, and do what their profiles say."""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from sandbox.workloads.in_client import tpcc
from sandbox.workloads.in_client.scenario import ExpectedRollbackError, Job
from sandbox.workloads.in_client.tpcc_data import first_new_order, units_of
from sandbox.workloads.tpcc import CONDITIONS
from unit.workloads.in_client.fake_server import TARGET
from unit.workloads.in_client.sqlite_server import CUSTOMERS, ITEMS, SqliteConnection

OPTIONS = {"warehouses": 2, "customers": CUSTOMERS, "items": ITEMS}


@pytest.fixture
def database() -> SqliteConnection:
    """Two small warehouses."""
    return SqliteConnection(2)


def terminal(connection: Any, number: int = 0) -> tpcc.TpccScenario:
    """A terminal on the small database."""
    made = tpcc.TpccScenario(Job(TARGET, number, 4, 7, OPTIONS))
    made.connection = connection
    return made


def broken(database: SqliteConnection) -> list[str]:
    """Conditions that do not hold."""
    return [name for name, (_, query) in CONDITIONS.items() if database.read(query)]


def test_the_initial_data_is_consistent_and_of_the_right_size(database: SqliteConnection) -> None:
    assert not broken(database)
    counts = {
        name: database.one(f"SELECT COUNT(*) FROM tpcc_{name}")
        for name in ("warehouse", "district", "customer", "history", "orders", "new_order", "item", "stock")
    }
    assert counts == {
        "warehouse": 2, "district": 20, "customer": 20 * CUSTOMERS, "history": 20 * CUSTOMERS,
        "orders": 20 * CUSTOMERS, "new_order": 20 * 9, "item": ITEMS, "stock": 2 * ITEMS,
    }  # fmt: skip
    assert database.one("SELECT COUNT(DISTINCT o_c_id) FROM tpcc_orders WHERE o_w_id = 1 AND o_d_id = 1") == CUSTOMERS
    assert database.one("SELECT COUNT(*) FROM tpcc_order_line WHERE ol_delivery_d IS NULL AND ol_amount = 0") == 0
    assert database.one("SELECT MAX(ol_i_id) FROM tpcc_order_line") <= ITEMS


def test_of_3000_orders_those_from_2101_on_are_new() -> None:
    assert first_new_order(3000) == 2101


def test_the_pieces_are_all_of_the_data() -> None:
    units = units_of(2, 25_000)
    assert Counter(unit.what for unit in units) == {"district": 20, "stock": 6, "items": 3, "warehouse": 2}
    assert sum(unit.last - unit.first + 1 for unit in units if unit.what == "stock") == 2 * 25_000


def test_hundreds_of_transactions_keep_every_condition(database: SqliteConnection) -> None:
    terminals = [terminal(database, number) for number in range(4)]
    kinds: Counter[str] = Counter()
    rolled_back = 0
    for turn in range(23 * 20):
        kind, transact = terminals[turn % 4].draw()
        kinds[kind] += 1
        try:
            transact()
        except ExpectedRollbackError:
            rolled_back += 1
    assert not broken(database)
    assert kinds["new_order"] == kinds["payment"] == 200 and kinds["delivery"] == 20
    made = database.one("SELECT SUM(d_next_o_id - 1) FROM tpcc_district") - 20 * CUSTOMERS
    assert made == kinds["new_order"] - rolled_back and 0 < rolled_back < 15
    assert database.one("SELECT COUNT(*) FROM tpcc_history") == 20 * CUSTOMERS + kinds["payment"]


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("UPDATE tpcc_warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", "tpcc_consistency_1"),
        ("UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3", "tpcc_consistency_2"),
        ("DELETE FROM tpcc_new_order WHERE no_o_id = 25", "tpcc_consistency_3"),
        ("DELETE FROM tpcc_order_line WHERE ol_o_id = 3 AND ol_number = 1 AND ol_d_id = 1", "tpcc_consistency_4"),
    ],
)
def test_what_is_broken_is_seen(database: SqliteConnection, change: str, condition: str) -> None:
    database.write(change)
    assert broken(database) == [condition]


def test_a_district_without_new_orders_is_no_break(database: SqliteConnection) -> None:
    database.write("DELETE FROM tpcc_new_order WHERE no_d_id = 4")
    assert not broken(database)


def test_an_item_that_there_is_none_of_takes_the_order_back(database: SqliteConnection) -> None:
    lines = [tpcc.OrderLine(1, 1, 5), tpcc.OrderLine(ITEMS + 1, 1, 5)]
    with pytest.raises(ExpectedRollbackError):
        tpcc.new_order(database, 1, 1, 1, lines)  # type: ignore[arg-type]
    assert database.one("SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = 1 AND d_id = 1") == CUSTOMERS + 1
    assert not broken(database)


def test_a_new_order_takes_from_the_stock_of_its_suppliers(database: SqliteConnection) -> None:
    database.write("UPDATE tpcc_stock SET s_quantity = 15 WHERE s_i_id IN (1, 2)")
    tpcc.new_order(database, 1, 3, 7, [tpcc.OrderLine(1, 1, 5), tpcc.OrderLine(2, 2, 6)])  # type: ignore[arg-type]
    stock = "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM tpcc_stock"
    assert database.read(f"{stock} WHERE s_w_id = 1 AND s_i_id = 1") == ((10, 5, 1, 0),)
    assert database.read(f"{stock} WHERE s_w_id = 2 AND s_i_id = 2") == ((15 - 6 + 91, 6, 1, 1),)
    order = CUSTOMERS + 1
    orders = "SELECT o_c_id, o_ol_cnt, o_all_local, o_carrier_id FROM tpcc_orders"
    assert database.read(f"{orders} WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = {order}") == ((7, 2, 0, None),)
    amount = database.one(f"SELECT ol_amount FROM tpcc_order_line WHERE ol_o_id = {order} AND ol_number = 1")
    assert amount == pytest.approx(5 * database.one("SELECT i_price FROM tpcc_item WHERE i_id = 1"), abs=0.13)


def test_a_payment_goes_to_all_three_accounts(database: SqliteConnection) -> None:
    before = database.read("SELECT c_balance FROM tpcc_customer WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 9")[0][0]
    database.write("UPDATE tpcc_customer SET c_credit = 'BC' WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 9")
    tpcc.payment(database, 1, 5, (2, 4), 9, Decimal("12.50"))  # type: ignore[arg-type]
    customer = "SELECT c_balance, c_payment_cnt, c_data FROM tpcc_customer WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 9"
    ((balance, payments, data),) = database.read(customer)
    assert (balance, payments) == (before - Decimal("12.5"), 2)
    assert data.startswith("9 4 2 5 1 12.50 | ") and len(data) <= 500
    assert database.one("SELECT w_ytd FROM tpcc_warehouse WHERE w_id = 1") == 10 * 10.0 * CUSTOMERS + 12.5
    last = "SELECT h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id FROM tpcc_history ORDER BY h_id DESC LIMIT 1"
    assert database.read(last) == ((9, 4, 2, 5, 1),)


def test_a_delivery_takes_the_oldest_order_of_each_district(database: SqliteConnection) -> None:
    first = first_new_order(CUSTOMERS)
    database.write("DELETE FROM tpcc_new_order WHERE no_w_id = 1 AND no_d_id = 10")
    tpcc.delivery(database, 1, 6)  # type: ignore[arg-type]
    assert database.one("SELECT MIN(no_o_id) FROM tpcc_new_order WHERE no_w_id = 1") == first + 1
    carried = f"SELECT COUNT(*) FROM tpcc_orders WHERE o_w_id = 1 AND o_id = {first} AND o_carrier_id = 6"
    assert database.one(carried) == 9
    undated = f"SELECT COUNT(*) FROM tpcc_order_line WHERE ol_w_id = 1 AND ol_d_id < 10 AND ol_o_id = {first}"
    assert database.one(f"{undated} AND ol_delivery_d IS NULL") == 0
    assert database.one("SELECT SUM(c_delivery_cnt) FROM tpcc_customer WHERE c_w_id = 1") == 9


def test_each_terminal_has_a_home_and_the_same_draws_each_time(database: SqliteConnection) -> None:
    assert [terminal(database, number)._home for number in range(4)] == [1, 2, 1, 2]
    first, second = terminal(database), terminal(database)
    assert [first.draw()[0] for _ in range(50)] == [second.draw()[0] for _ in range(50)]
    first, other = terminal(database, 1), terminal(database, 3)
    assert [first.draw()[0] for _ in range(23)] != [other.draw()[0] for _ in range(23)]

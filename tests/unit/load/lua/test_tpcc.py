"""TPC-C's data and transactions keep its consistency conditions, and do what their profiles say."""

from collections import Counter
from typing import Any

import pytest

from sandbox.load.tpcc import CONDITIONS, DISTRICTS, TABLES
from unit.load.lua.script import Load, Server, State
from unit.load.lua.sqlite_server import CUSTOMERS, ITEMS, OPTIONS, TpccServer


@pytest.fixture(scope="module")
def initial() -> TpccServer:
    """Two small warehouses, as they are loaded."""
    return TpccServer()


@pytest.fixture
def server(initial: TpccServer) -> TpccServer:
    """The same to change."""
    return TpccServer(initial)


@pytest.fixture(scope="module")
def data() -> Any:
    """The module that makes the data."""
    return State(Server(), {}, []).require("tpcc.data")


def broken(server: TpccServer) -> list[str]:
    """Conditions that do not hold."""
    return [name for name, (_, query) in CONDITIONS.items() if server.query(query)]


def line(item: int, supplier: int, quantity: int) -> dict[str, int]:
    """A line of an order."""
    return {"item": item, "supplier": supplier, "quantity": quantity}


def test_the_initial_data_is_consistent_and_of_the_right_size(server: TpccServer) -> None:
    assert not broken(server)
    assert server.one(
        "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name LIKE 'tpcc%'"
    ) == len(TABLES)
    counts = {
        name: server.one(f"SELECT COUNT(*) FROM tpcc_{name}")
        for name in (
            "warehouse",
            "district",
            "customer",
            "history",
            "orders",
            "new_order",
            "item",
            "stock",
        )
    }
    assert counts == {
        "warehouse": 2,
        "district": 2 * DISTRICTS,
        "customer": 20 * CUSTOMERS,
        "history": 20 * CUSTOMERS,
        "orders": 20 * CUSTOMERS,
        "new_order": 20 * 9,
        "item": ITEMS,
        "stock": 2 * ITEMS,
    }
    assert (
        server.one("SELECT COUNT(DISTINCT o_c_id) FROM tpcc_orders WHERE o_w_id = 1 AND o_d_id = 1")
        == CUSTOMERS
    )
    assert (
        server.one(
            "SELECT COUNT(*) FROM tpcc_order_line WHERE ol_delivery_d IS NULL AND ol_amount = 0"
        )
        == 0
    )
    assert server.one("SELECT COUNT(*) FROM tpcc_orders WHERE o_carrier_id IS NULL") == 20 * 9
    assert server.one("SELECT MAX(ol_i_id) FROM tpcc_order_line") <= ITEMS


def test_the_same_piece_has_the_same_rows_whoever_fills_it() -> None:
    """Here: one thread fills all, or the second of two its half."""

    def customers(threads: int) -> dict[str, str]:
        server = Server()
        options = {"threads": threads, **{name: str(value) for name, value in OPTIONS.items()}}
        state = State(server, options, [])
        state.lua.globals().sysbench.tid = threads - 1
        state.run("tpcc/load.lua")
        assert state.lua.eval("sysbench.cmdline.commands.fill[1]()")
        stock = [text for text in server.sent if text.startswith("INSERT INTO tpcc_stock")]
        return {text[:60]: text for text in stock}

    every, half = customers(1), customers(2)
    assert half and len(half) < len(every) and half.items() <= every.items()


def test_of_3000_orders_those_from_2101_on_are_new(data: Any) -> None:
    assert data.first_new_order(3000) == 2101


def test_the_pieces_are_all_of_the_data(data: Any) -> None:
    pieces = list(data.pieces(2, 25_000).values())
    assert Counter(piece.what for piece in pieces) == {
        "district": 20,
        "stock": 6,
        "items": 3,
        "warehouse": 2,
    }
    assert (
        sum(piece.last - piece.first + 1 for piece in pieces if piece.what == "stock") == 2 * 25_000
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_transactions_keep_every_condition(server: TpccServer, seed: int) -> None:
    load = Load("tpcc/load.lua", server, threads=1, seconds=0.5, tick_s=0.001, seed=seed, **OPTIONS)
    summary = load.run()[-1]["summary"]
    assert (
        not broken(server) and not summary["errors"] and set(summary["conflicts"]) <= {"expected"}
    )
    done = {
        kind: sum(count for _, count in found["counts"]) for kind, found in summary["kinds"].items()
    }
    assert set(done) == {"new_order", "payment", "order_status", "delivery", "stock_level"}
    rolled_back = summary["conflicts"].get("expected", 0)
    assert done["new_order"] + rolled_back == pytest.approx(done["payment"], abs=10)
    assert done["payment"] == pytest.approx(10 * done["delivery"], abs=10)
    made = server.one("SELECT SUM(d_next_o_id - 1) FROM tpcc_district") - 20 * CUSTOMERS
    assert made == done["new_order"] > 20
    assert server.one("SELECT COUNT(*) FROM tpcc_history") == 20 * CUSTOMERS + done["payment"]


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("UPDATE tpcc_warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", "tpcc_consistency_1"),
        (
            "UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
            "tpcc_consistency_2",
        ),
        ("DELETE FROM tpcc_new_order WHERE no_o_id = 25", "tpcc_consistency_3"),
        (
            "DELETE FROM tpcc_order_line WHERE ol_o_id = 3 AND ol_number = 1 AND ol_d_id = 1",
            "tpcc_consistency_4",
        ),
    ],
)
def test_a_violation_is_found(server: TpccServer, change: str, condition: str) -> None:
    server.query(change)
    assert broken(server) == [condition]


def test_a_district_without_new_orders_is_no_violation(server: TpccServer) -> None:
    server.query("DELETE FROM tpcc_new_order WHERE no_d_id = 4")
    assert not broken(server)


def test_a_missing_item_rolls_the_order_back(server: TpccServer) -> None:
    assert not server.transact("new_order", 1, 1, 1, [line(1, 1, 5), line(ITEMS + 1, 1, 5)])
    assert (
        server.one("SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = 1 AND d_id = 1")
        == CUSTOMERS + 1
    )
    assert not broken(server)


def test_a_new_order_takes_from_the_stock_of_its_suppliers(server: TpccServer) -> None:
    server.query("UPDATE tpcc_stock SET s_quantity = 15 WHERE s_i_id IN (1, 2)")
    assert server.transact("new_order", 1, 3, 7, [line(1, 1, 5), line(2, 2, 6)])
    stock = "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM tpcc_stock"
    assert server.query(f"{stock} WHERE s_w_id = 1 AND s_i_id = 1") == [(10, 5, 1, 0)]
    assert server.query(f"{stock} WHERE s_w_id = 2 AND s_i_id = 2") == [(15 - 6 + 91, 6, 1, 1)]
    order = CUSTOMERS + 1
    orders = "SELECT o_c_id, o_ol_cnt, o_all_local, o_carrier_id FROM tpcc_orders"
    assert server.query(f"{orders} WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = {order}") == [
        (7, 2, 0, None)
    ]
    amount = server.one(
        f"SELECT ol_amount FROM tpcc_order_line WHERE ol_o_id = {order} AND ol_number = 1"
    )
    assert amount == pytest.approx(
        5 * server.one("SELECT i_price FROM tpcc_item WHERE i_id = 1"), abs=0.13
    )


def test_a_payment_goes_to_all_three_accounts(server: TpccServer) -> None:
    of_customer = "WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 9"
    before = server.one(f"SELECT c_balance FROM tpcc_customer {of_customer}")
    server.query(f"UPDATE tpcc_customer SET c_credit = 'BC' {of_customer}")
    assert server.transact("payment", 1, 5, {"warehouse": 2, "district": 4}, 9, 1250)
    ((balance, payments, text),) = server.query(
        f"SELECT c_balance, c_payment_cnt, c_data FROM tpcc_customer {of_customer}"
    )
    assert (balance, payments) == (before - 12.5, 2)
    assert text.startswith("9 4 2 5 1 12.50 | ") and len(text) <= 500
    assert (
        server.one("SELECT w_ytd FROM tpcc_warehouse WHERE w_id = 1")
        == 10 * 10.0 * CUSTOMERS + 12.5
    )
    last = (
        "SELECT h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id FROM tpcc_history ORDER BY h_id DESC"
        " LIMIT 1"
    )
    assert server.query(last) == [(9, 4, 2, 5, 1)]


def test_a_delivery_takes_the_oldest_order_of_each_district(server: TpccServer, data: Any) -> None:
    first = data.first_new_order(CUSTOMERS)
    server.query("DELETE FROM tpcc_new_order WHERE no_w_id = 1 AND no_d_id = 10")
    assert server.transact("delivery", 1, 6)
    assert server.one("SELECT MIN(no_o_id) FROM tpcc_new_order WHERE no_w_id = 1") == first + 1
    carried = (
        f"SELECT COUNT(*) FROM tpcc_orders WHERE o_w_id = 1 AND o_id = {first} AND o_carrier_id = 6"
    )
    assert server.one(carried) == 9
    undated = (
        "SELECT COUNT(*) FROM tpcc_order_line WHERE ol_w_id = 1 AND ol_d_id < 10 AND ol_o_id ="
        f" {first}"
    )
    assert server.one(f"{undated} AND ol_delivery_d IS NULL") == 0
    assert server.one("SELECT SUM(c_delivery_cnt) FROM tpcc_customer WHERE c_w_id = 1") == 9


def draws(seed: int, number: int) -> list[str]:
    """Kinds of a terminal's first transactions, and the warehouses that it turns to."""
    load = Load("tpcc/load.lua", Server(lambda _: [["1", "1"]]), threads=4, seed=seed, **OPTIONS)
    load.main.lua.globals().init()
    state = load.states[number]
    state.lua.execute(
        "engine = require('engine'); engine.load = function(definition) loaded = definition end"
    )
    state.lua.execute("package.loaded['tpcc.random'], package.loaded['tpcc.data'] = nil, nil")
    state.run("tpcc/load.lua")
    state.lua.execute("math.randomseed(...)", seed * 10007 + number)
    terminal = state.lua.eval("loaded.thread({number = ..., threads = 4})", number)
    return [terminal.draw()[0] for _ in range(50)]


def test_each_terminal_has_draws_of_its_own_the_same_each_time() -> None:
    assert draws(7, 1) == draws(7, 1) != draws(7, 3)
    assert draws(7, 1) != draws(8, 1)


def test_a_deck_is_dealt_to_the_end() -> None:
    kinds = draws(7, 0)
    assert Counter(kinds[:23]) == Counter(kinds[23:46])

"""Random values of TPC-C as its specification, revision 5.11, defines them. Pure except for the given generator."""

import random
from collections.abc import Sequence
from typing import TypeVar

Row = TypeVar("Row")

SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
"""Syllables of last names (clause 4.3.2.3)."""

LAST_NAMES = 1000

C_LAST_OF_LOAD, C_LAST_OF_RUN = 91, 173
"""Constants C of NURand(255, …). Their difference must lie in 65 to 119 and be neither 96 nor 112 (clause 2.1.6.1)."""

C_CUSTOMER, C_ITEM = 259, 7911
"""Constants C of NURand(1023, …) and NURand(8191, …), any number from 0 to A (clause 2.1.6)."""

DECK = ("new_order",) * 10 + ("payment",) * 10 + ("order_status", "delivery", "stock_level")
"""A deck of cards, shuffled and dealt to the end, gives the required mix exactly (clause 5.2.4.2)."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def nurand(draw: random.Random, a: int, x: int, y: int, c: int) -> int:
    """Non-uniform random number in x … y: ((random(0, A) | random(x, y)) + C) % (y - x + 1) + x (clause 2.1.6)."""
    return ((draw.randint(0, a) | draw.randint(x, y)) + c) % (y - x + 1) + x


def last_name(number: int) -> str:
    """Three syllables, one for each digit of 0 … 999 (clause 4.3.2.3)."""
    return SYLLABLES[number // 100] + SYLLABLES[number // 10 % 10] + SYLLABLES[number % 10]


def customer_id(draw: random.Random, customers: int) -> int:
    """A customer of a district: NURand(1023, 1, 3000) where there are 3,000."""
    return nurand(draw, 1023, 1, customers, C_CUSTOMER)


def item_id(draw: random.Random, items: int) -> int:
    """An item: NURand(8191, 1, 100000) where there are 100,000."""
    return nurand(draw, 8191, 1, items, C_ITEM)


def name_of_run(draw: random.Random, customers: int) -> str:
    """A last name that some customer has: NURand(255, 0, 999)."""
    return last_name(nurand(draw, 255, 0, min(customers, LAST_NAMES) - 1, C_LAST_OF_RUN))


def name_of_load(draw: random.Random, customer: int) -> str:
    """The last name of a customer when the data is made: each name once, then NURand(255, 0, 999) (clause 4.3.3.1)."""
    number = customer - 1 if customer <= LAST_NAMES else nurand(draw, 255, 0, LAST_NAMES - 1, C_LAST_OF_LOAD)
    return last_name(number)


def supply_warehouse(draw: random.Random, home: int, warehouses: int) -> int:
    """Warehouse of an order line: 1% come from another warehouse, if there is another (clause 2.4.1.5)."""
    return other_warehouse(draw, home, warehouses) if warehouses > 1 and draw.randint(1, 100) == 1 else home


def paying_customer_home(draw: random.Random, warehouse: int, district: int, warehouses: int) -> tuple[int, int]:
    """Warehouse and district of the payer: 15% are customers of another warehouse, if there is another (2.5.1.2)."""
    if warehouses > 1 and draw.randint(1, 100) > 85:
        return other_warehouse(draw, warehouse, warehouses), draw.randint(1, 10)
    return warehouse, district


def other_warehouse(draw: random.Random, home: int, warehouses: int) -> int:
    """Any but the home warehouse, all equally likely."""
    drawn = draw.randint(1, warehouses - 1)
    return drawn + (drawn >= home)


def by_last_name(draw: random.Random) -> bool:
    """60% of payments and order-status requests give the last name (clauses 2.5.1.2, 2.6.1.2)."""
    return draw.randint(1, 100) <= 60


def rolled_back(draw: random.Random) -> bool:
    """1% of new orders end with an item that does not exist (clause 2.4.1.4)."""
    return draw.randint(1, 100) == 1


def middle(rows: Sequence[Row]) -> Row:
    """Of the customers of one name, the one at position ⌈n/2⌉, counted from 1 (clause 2.5.2.2)."""
    return rows[(len(rows) + 1) // 2 - 1]


class Strings:
    """Random strings, cut from one long random text: drawing each letter would take longer than the server does."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._text = "".join(draw.choices(_LETTERS, k=50_000))

    def alphanumeric(self, shortest: int, longest: int | None = None) -> str:
        """A-string of some length (clause 4.3.2.2)."""
        length = shortest if longest is None else self._draw.randint(shortest, longest)
        start = int(self._draw.random() * (len(self._text) - length))
        return self._text[start : start + length]

    def numeric(self, length: int) -> str:
        """N-string (clause 4.3.2.2)."""
        return f"{self._draw.randrange(10**length):0{length}d}"

    def zip_code(self) -> str:
        """Four random digits, then 11111 (clause 4.3.2.7)."""
        return self.numeric(4) + "11111"

    def data(self) -> str:
        """26 to 50 letters; 10% have the word ORIGINAL somewhere in them (clause 4.3.3.1)."""
        text = self.alphanumeric(26, 50)
        if self._draw.randint(1, 10) > 1:
            return text
        place = self._draw.randint(0, len(text) - 8)
        return text[:place] + "ORIGINAL" + text[place + 8 :]

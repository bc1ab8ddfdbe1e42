"""GTID sets of MySQL and positions of MariaDB: how many transactions one is, what it has beyond
another. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

Interval = tuple[int, int]
"""First and last number, both in it."""
_INTERVAL = re.compile(r"(\d+)(?:-(\d+))?")
_POSITION = re.compile(r"(\d+-\d+-\d+(,|$))+")


def transactions(held: str) -> int:
    """How many transactions a GTID set (MySQL) or position (MariaDB) stands for; comparable within
    one history.
    """
    if _POSITION.fullmatch(held):
        return sum(number for _, number in positions(held).values())
    return sum(
        last - first + 1 for intervals in intervals_of(held).values() for first, last in intervals
    )


def beyond(held: str, other: str) -> str:
    """The transactions that a server holds and another one does not, as a GTID set or position;
    empty where there is nothing.

    A position names only the last transaction of each domain: one that is as far, by another
    server, differs too.
    """
    if _POSITION.fullmatch(held):
        own, far = positions(held), positions(other)
        ahead = [domain for domain in own if _is_beyond(own[domain], far.get(domain, (0, 0)))]
        return ",".join(f"{domain}-{own[domain][0]}-{own[domain][1]}" for domain in ahead)
    there = intervals_of(other)
    left = {
        source: list(_without(has, there.get(source, ())))
        for source, has in intervals_of(held).items()
    }
    return ",".join(
        f"{source}:{':'.join(map(_text, intervals))}"
        for source, intervals in left.items()
        if intervals
    )


def _is_beyond(own: tuple[int, int], other: tuple[int, int]) -> bool:
    return own[1] > other[1] or (own[1] == other[1] and own[0] != other[0])


def positions(held: str) -> Mapping[int, tuple[int, int]]:
    """MariaDB's position: domain → (server, number). Source: MariaDB's manual, "Global Transaction
    ID".
    """
    parts = (each.split("-") for each in held.split(",") if each.count("-") == 2)
    return {int(domain): (int(server), int(number)) for domain, server, number in parts}


def intervals_of(held: str) -> Mapping[str, Sequence[Interval]]:
    """MySQL's set: source, or ``source:tag`` → intervals. Source: MySQL's manual, "GTID Sets"."""
    found: dict[str, list[Interval]] = {}
    for part in "".join(held.split()).split(","):
        source, *words = part.lower().split(":")
        key = source
        for word in words:
            if match := _INTERVAL.fullmatch(word):
                found.setdefault(key, []).append((int(match[1]), int(match[2] or match[1])))
            else:  # a tag, of all intervals up to the next one
                key = f"{source}:{word}"
    return {key: sorted(intervals) for key, intervals in found.items()}


def _without(own: Sequence[Interval], other: Sequence[Interval]) -> Iterator[Interval]:
    for first, last in own:
        begin = first
        for low, high in other:
            if high < begin or low > last:
                continue
            if low > begin:
                yield begin, low - 1
            begin = high + 1
        if begin <= last:
            yield begin, last


def _text(interval: Interval) -> str:
    first, last = interval
    return str(first) if first == last else f"{first}-{last}"

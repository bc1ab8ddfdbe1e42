"""PURE: what a server's refusal of a statement means, by its error code."""

from dataclasses import dataclass

from sandbox.record.upgrade import UpgradeFinding
from sandbox.upgrade.replay import DistinctQuery

NOT_KNOWN_HERE = {
    1064: "syntax that the server does not take",
    1193: "a variable that the server does not have",
    1273: "a collation that the server does not have",
    1115: "a character set that the server does not have",
    1286: "a storage engine that the server does not have",
    1305: "a function or procedure that the server does not have",
    1370: "a function that the account may not run",
    1582: "a function with other parameters",
    1149: "syntax that the server does not take",
    1234: "a variable that takes no such value",
    1231: "a variable that takes no such value",
    1295: "a statement that cannot be prepared",
}
"""Error codes by which a server refuses a statement itself, whatever the data."""
NO_DATA = (1046, 1049, 1146)
"""No schema or table of that name: nobody can say without the data."""
NOT_PREPARED = 1295


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of a server. ``code`` None: it has none."""

    code: int | None
    text: str


def refused_finding(
    query: DistinctQuery, on_from: Refusal | None, on_to: Refusal | None
) -> UpgradeFinding | None:
    """The finding where one of the servers refuses a statement that the other one takes; or fails
    for another reason, since a statement is parsed before its tables are looked for.
    """
    first = _known(on_from)
    second = _known(on_to)
    deciding = second or first
    if deciding is None or (first and second and first.code == second.code):
        return None
    meaning = NOT_KNOWN_HERE[deciding.code or 0]
    where = "the newer server refuses it" if second else "the older server refuses it"
    return UpgradeFinding(
        kind="refused",
        matters=second is not None,
        on_from=on_from.text if on_from else "taken",
        on_to=on_to.text if on_to else "taken",
        query=query.text,
        count=query.count,
        note=f"{where}: {meaning}",
    )


def _known(refusal: Refusal | None) -> Refusal | None:
    """The refusal where it is of the statement itself."""
    if refusal is None or refusal.code == NOT_PREPARED or refusal.code not in NOT_KNOWN_HERE:
        return None
    return refusal


def misses_data(refusal: Refusal | None) -> bool:
    """Whether a server fails because the data is not there."""
    return refusal is not None and refusal.code in NO_DATA

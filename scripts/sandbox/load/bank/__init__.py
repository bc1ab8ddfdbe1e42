"""Transfers between accounts and reads of all of them: the total never changes, unless isolation
fails.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field

from sandbox.load.common.history_load import HistoryLoad
from sandbox.load.common.isolation.history import Anomaly, Txn

Version = int
BEGINNING: Version = 0
"""Version of every account before the first transfer."""


@dataclass(frozen=True)
class BankHistory:
    """A history of transfers, which read balances and then write them, and of reads of all of them.

    A row holds its balance and the transfer that wrote it last, its version. A transfer says which
    versions it replaced, so every account has a tree of versions; without a lost update it is a
    line.

    Operations: ``["w", account, [version, replaced]]`` of a transfer, ``["r", account, [balance,
    version]]`` of a read.
    """

    txns: Sequence[Txn]
    total: int
    """Of all accounts at the beginning."""

    @cached_property
    def transfers(self) -> dict[Version, Txn]:
        """Version → the transfer that wrote it, whatever became of it."""
        return {op[2][0]: txn for txn in self.txns for op in txn.ops if op[0] == "w"}

    @cached_property
    def writes(self) -> dict[Version, dict[int, Version]]:
        """The writes of each committed transfer: account → the version that it replaced."""
        return {
            version: {op[1]: op[2][1] for op in txn.ops if op[0] == "w"}
            for version, txn in self.transfers.items()
            if txn.outcome == "ok"
        }

    @cached_property
    def reads(self) -> list[tuple[Txn, dict[int, tuple[int, Version]]]]:
        """Committed reads of all accounts: account → balance and version."""
        return [
            (txn, {op[1]: (op[2][0], op[2][1]) for op in txn.ops})
            for txn in self.txns
            if txn.outcome == "ok" and txn.ops and txn.ops[0][0] == "r"
        ]

    @cached_property
    def load_reads(self) -> list[tuple[Txn, dict[int, tuple[int, Version]]]]:
        """Reads of the load."""
        return [(txn, seen) for txn, seen in self.reads if not txn.final]

    @cached_property
    def finals(self) -> list[tuple[Txn, dict[int, tuple[int, Version]]]]:
        """Reads after the load, one for each node."""
        return [(txn, seen) for txn, seen in self.reads if txn.final]

    @cached_property
    def _depths(self) -> dict[tuple[int, Version], int]:
        return {}

    def depth(self, account: int, version: Version) -> int | None:
        """How many versions precede one; None where one of them is not known."""
        path: dict[Version, None] = {}
        while version != BEGINNING and (account, version) not in self._depths:
            if account not in self.writes.get(version, {}) or version in path:
                return None
            path[version] = None
            version = self.writes[version][account]
        start = 0 if version == BEGINNING else self._depths[account, version]
        for above, each in enumerate(reversed(path), 1):
            self._depths[account, each] = start + above
        return start + len(path)

    def precedes(self, account: int, older: Version, newer: Version) -> bool:
        """Whether a version, or one of which it is the base, was replaced on the way to another
        one.
        """
        low, high = self.depth(account, older), self.depth(account, newer)
        if low is None or high is None or low >= high:
            return False
        for _ in range(high - low):
            newer = self.writes[newer][account]
        return newer == older


def bank_anomalies(history: BankHistory) -> dict[str, Anomaly]:
    """Every anomaly that is looked for, by the names of `promises.ANOMALIES`."""
    found = {
        "aborted_reads": _aborted(history),
        "unexplained_reads": _unexplained(history),
        "lost_updates": _lost_updates(history),
        "lost_writes": _lost_writes(history),
        "stale_reads": _stale(history),
        "fractured_reads": _fractured(history),
        "non_monotonic_reads": _non_monotonic(history),
        "wrong_totals": _wrong_totals(history),
        "final_totals": _final_totals(history),
        "divergence": _divergence(history),
    }
    return {name: Anomaly.of(list(each)) for name, each in found.items()}


def _aborted(history: BankHistory) -> Iterator[str]:
    for txn, seen in history.reads:
        for account, (_, version) in seen.items():
            writer = history.transfers.get(version)
            if writer is not None and writer.outcome == "fail":
                yield f"{txn}: account {account} shows {writer}, which was rolled back"
                break


def _unexplained(history: BankHistory) -> Iterator[str]:
    for txn, seen in history.reads:
        if any(
            version != BEGINNING and version not in history.transfers
            for _, version in seen.values()
        ):
            yield f"{txn} shows a version that no transfer wrote"


def _lost_updates(history: BankHistory) -> Iterator[str]:
    """P4: two transfers replaced the same version of an account; all but one of them are
    counted.
    """
    first: dict[tuple[int, Version], Version] = {}
    for version, replaced in history.writes.items():
        for account, before in replaced.items():
            other = first.setdefault((account, before), version)
            if other != version:
                pair = f"{history.transfers[other]} and {history.transfers[version]}"
                yield f"account {account}: {pair} both replaced version {before}"


def _lost_writes(history: BankHistory) -> Iterator[str]:
    """Acknowledged transfers of which an account shows nothing in the end."""
    if not history.finals:
        return
    for account, (_, version) in history.finals[0][1].items():
        kept = set()
        while version in history.writes and version not in kept:
            kept.add(version)
            version = history.writes[version].get(account, BEGINNING)
        # Of an unknown transfer that took effect: what it replaced is not known.
        if version != BEGINNING:
            continue
        for each, replaced in history.writes.items():
            if account in replaced and each not in kept:
                yield f"account {account} shows nothing of {history.transfers[each]} in the end"


def _stale(history: BankHistory) -> Iterator[str]:
    """A read that shows an older version than one acknowledged before it began."""
    acked = sorted(
        (txn.ended_ns, version) for version, txn in history.transfers.items() if txn.outcome == "ok"
    )
    newest: dict[int, Version] = {}
    at = 0
    for txn, seen in history.load_reads:
        while at < len(acked) and acked[at][0] < txn.began_ns:
            newest |= dict.fromkeys(history.writes[acked[at][1]], acked[at][1])
            at += 1
        old = [account for account in newest if _missed(history, account, seen, newest[account])]
        if old:
            age_ms = (txn.began_ns - history.transfers[newest[old[0]]].ended_ns) / 1e6
            yield f"{txn}: account {old[0]} lacks a transfer acknowledged {age_ms:.1f} ms before"


def _missed(
    history: BankHistory, account: int, seen: Mapping[int, tuple[int, Version]], newest: Version
) -> bool:
    return account in seen and history.precedes(account, seen[account][1], newest)


def _fractured(history: BankHistory) -> Iterator[str]:
    """A read that shows one half of a transfer, or of one that this replaced, and not the other."""
    for txn, seen in history.reads:
        halves = (
            version
            for account, (_, newest) in seen.items()
            for other, version in _other_halves(history, account, newest, len(seen) - 1)
            if _missed(history, other, seen, version)
        )
        if (half := next(halves, None)) is not None:
            yield f"{txn} shows one half of {history.transfers[half]}"


def _other_halves(
    history: BankHistory, account: int, version: Version, most: int
) -> Iterator[tuple[int, Version]]:
    """Halves of the transfers that a version of an account contains: each other account, with its
    newest transfer to or from this one.
    """
    known: set[int] = set()
    passed: set[Version] = set()
    while len(known) < most and version in history.writes and version not in passed:
        passed.add(version)
        for other in history.writes[version].keys() - known - {account}:
            known.add(other)
            yield other, version
        version = history.writes[version].get(account, BEGINNING)


def _non_monotonic(history: BankHistory) -> Iterator[str]:
    """A client, whose reads all go to one node, saw an older version than before."""
    latest: dict[int, dict[int, tuple[int, Version]]] = {}
    for txn, seen in history.load_reads:
        before = latest.get(txn.process, {})
        if any(
            _missed(history, account, seen, version) for account, (_, version) in before.items()
        ):
            yield f"{txn} shows an older version than this client had read before"
        latest[txn.process] = seen


def _wrong_totals(history: BankHistory) -> Iterator[str]:
    for txn, seen in history.load_reads:
        if (found := sum(balance for balance, _ in seen.values())) != history.total:
            yield f"{txn}: the total is {found}, not {history.total}"


def _final_totals(history: BankHistory) -> Iterator[str]:
    for txn, seen in history.finals:
        if (found := sum(balance for balance, _ in seen.values())) != history.total:
            yield f"the total on {txn.node} is {found}, not {history.total}"


def _divergence(history: BankHistory) -> Iterator[str]:
    for txn, seen in history.finals[1:]:
        if seen != history.finals[0][1]:
            yield f"{txn.node} and {history.finals[0][0].node} hold different accounts in the end"


BALANCE = 100


class Bank(HistoryLoad):
    """Jepsen's workload of this name; a row also holds which transfer wrote it last."""

    prefix: ClassVar[str] = "bank_"
    accounts: int = Field(default=8, ge=2, le=1000, description="accounts of 100 each")

    @property
    def overwrites(self) -> bool:
        """Balances are computed by the client."""
        return True

    @property
    def statements(self) -> tuple[str, ...]:
        """The accounts."""
        columns = "id int PRIMARY KEY, balance bigint NOT NULL, version bigint NOT NULL"
        return (
            f"CREATE TABLE bank_accounts ({columns}) ENGINE=InnoDB",
            "INSERT INTO bank_accounts VALUES "  # noqa: S608  (whole numbers)
            + ", ".join(f"({each}, {BALANCE}, 0)" for each in range(self.accounts)),
        )

    def client_options(self) -> dict[str, Any]:
        """The options of `BankTransactions`."""
        return {"accounts": self.accounts}

    def anomalies(self, txns: list[Txn]) -> dict[str, Anomaly]:
        """The anomalies by the versions of accounts, and by totals."""
        return bank_anomalies(BankHistory(txns, BALANCE * self.accounts))

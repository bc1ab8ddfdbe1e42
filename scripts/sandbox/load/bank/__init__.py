"""Transfers between accounts and reads of all of them: the total never changes, unless isolation
fails.
"""

from typing import Any, ClassVar

from pydantic import Field

from sandbox.load.common.history_load import HistoryLoad
from sandbox.load.common.isolation.bank import BankHistory, bank_anomalies
from sandbox.load.common.isolation.history import Anomaly, Txn

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

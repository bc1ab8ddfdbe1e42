"""Runs in the client node: transfers that read two balances and write what they computed; reads of
all accounts.
"""

import json
import random
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.load.common import in_client_history as history
else:
    import in_client_history as history  # shipped into the same folder

READ = "SELECT balance, version FROM bank_accounts WHERE id = %s"
WRITE = "UPDATE bank_accounts SET balance = %s, version = %s WHERE id = %s"
LARGEST = 5


class BankTransactions:
    """Half of them are transfers: the first account loses what the second gains."""

    def __init__(self, accounts: int) -> None:
        self._accounts = accounts
        self._guard = threading.Lock()
        self._last_transfer = 0

    def draw(self, dice: random.Random, read_only: bool) -> history.Ops:
        """A transfer, ``["w", account, [version, replaced]]`` twice, or a read of all."""
        if read_only or dice.random() < 0.5:
            return self.all_reads()
        with self._guard:
            self._last_transfer += 1
            return [
                ["w", each, [self._last_transfer, None]]
                for each in dice.sample(range(self._accounts), 2)
            ]

    def carry_out(self, link: history.NodeLink, ops: history.Ops) -> history.Ops:
        """Reads account by account, as a report that takes several queries does."""
        if ops[0][0] == "r":
            return [["r", account, self._read(link, account)] for _, account, _ in ops]
        before = [self._read(link, account) for _, account, _ in ops]
        amount = 1 + ops[0][2][0] % LARGEST
        done: history.Ops = []
        for (_, account, (version, _)), (balance, replaced), change in zip(
            ops, before, (-amount, amount), strict=True
        ):
            link.execute("writes", WRITE, (balance + change, version, account))
            done.append(["w", account, [version, replaced]])
        return done

    def kind_of(self, ops: history.Ops) -> str:
        """The kind of a transaction, by its first operation."""
        return "read" if ops[0][0] == "r" else "transfer"

    def all_reads(self) -> history.Ops:
        """Reads of every account."""
        return [["r", account, None] for account in range(self._accounts)]

    def _read(self, link: history.NodeLink, account: int) -> list[int]:
        ((balance, version),) = link.execute("reads", READ, (account,))
        return [balance, version]


def main() -> None:
    """The request's ``options`` are those of `BankTransactions`."""
    request = json.loads(sys.argv[1])
    history.main(BankTransactions(**request["options"]), request)


if __name__ == "__main__":
    main()

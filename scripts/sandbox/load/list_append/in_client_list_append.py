"""Runs in the client node: appends to lists and reads of them, on a few keys at a time; a full list
is replaced.
"""

import json
import random
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.load.common import in_client_history as history
else:
    import in_client_history as history  # shipped into the same folder

READ = "SELECT val FROM list_append_lists WHERE id = %s"
APPEND = (
    "INSERT INTO list_append_lists VALUES (%s, %s) ON DUPLICATE KEY UPDATE val = CONCAT(val,"
    " ',', %s)"
)
OVERWRITE = "INSERT INTO list_append_lists VALUES (%s, %s) ON DUPLICATE KEY UPDATE val = %s"


class ListTransactions:
    """Transactions of ``longest`` operations or fewer, half of them appends.

    ``overwrite``: an append reads the list, and writes the longer one that it computed.
    """

    def __init__(self, keys: int, appends_per_key: int, longest: int, overwrite: bool) -> None:
        self._appends_per_key = appends_per_key
        self._longest = longest
        self._overwrite = overwrite
        self._guard = threading.Lock()
        self._active = list(range(keys))
        self._appended = [0] * keys
        self._last_key = keys - 1
        self._last_element = 0

    def draw(self, dice: random.Random, read_only: bool) -> history.Ops:
        """Keys by chance, elements in ascending order."""
        count = dice.randint(1, self._longest)
        with self._guard:
            return [self._op(dice, read_only or dice.random() < 0.5) for _ in range(count)]

    def carry_out(self, link: history.NodeLink, ops: history.Ops) -> history.Ops:
        """One statement for each operation; with ``overwrite``, the read before an append is
        recorded too.
        """
        done: history.Ops = []
        for name, key, value in ops:
            if name == "r" or self._overwrite:
                done.append(["r", key, self._read(link, key)])
            if name == "append":
                self._append(link, key, value, done[-1][2] if self._overwrite else [])
                done.append([name, key, value])
        return done

    def kind_of(self, ops: history.Ops) -> str:
        """The kind of a transaction, by whether it appends."""
        return "write" if any(name == "append" for name, _, _ in ops) else "read"

    def all_reads(self) -> history.Ops:
        """Reads of every key so far."""
        return [["r", key, None] for key in range(self._last_key + 1)]

    def _op(self, dice: random.Random, read: bool) -> list[Any]:
        place = dice.randrange(len(self._active))
        key = self._active[place]
        if read:
            return ["r", key, None]
        self._last_element += 1
        self._appended[place] += 1
        if self._appended[place] >= self._appends_per_key:
            self._last_key += 1
            self._active[place] = self._last_key
            self._appended[place] = 0
        return ["append", key, self._last_element]

    def _read(self, link: history.NodeLink, key: int) -> list[int]:
        rows = link.execute("reads", READ, (key,))
        return [int(element) for element in rows[0][0].split(",")] if rows else []

    def _append(self, link: history.NodeLink, key: int, element: int, seen: list[int]) -> None:
        if self._overwrite:
            text = ",".join(map(str, [*seen, element]))
            link.execute("writes", OVERWRITE, (key, text, text))
        else:
            link.execute("writes", APPEND, (key, str(element), str(element)))


def main() -> None:
    """The request's ``options`` are those of `ListTransactions`."""
    request = json.loads(sys.argv[1])
    history.main(ListTransactions(**request["options"]), request)


if __name__ == "__main__":
    main()

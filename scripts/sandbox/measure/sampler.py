"""Takes one-second samples of every server and of the machine, in the client node, while a load
runs.
"""

import json
import threading
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from sandbox.measure import in_client
from sandbox.stack.client_python import end_stream, script_argv, targets_of
from sandbox.stack.protocol import RunningStack, StackNode

INTERVAL_S = 1.0
FIRST_SAMPLE_LIMIT_S = 15.0
END_LIMIT_S = 5.0


class Sampler:
    """Samples from entry to exit of its ``with`` block; every line goes to ``path`` as it arrives.

    It connects as soon as it is created: close one that is never entered.
    """

    def __init__(
        self,
        stack: RunningStack,
        client: str,
        servers: Sequence[StackNode],
        path: Path,
        watched: Collection[str] = (),
    ) -> None:
        self.host_lines: list[dict[str, Any]] = []
        self.sampled: Counter[str] = Counter()
        """Number of samples with a status, by server."""
        self.watched: dict[str, dict[str, list[float]]] = {status: {} for status in watched}
        """Samples of each requested status variable in order, by server."""
        self._path = path
        members = {
            node.name for node in servers if node.kind == "database" and node.topology == "gr"
        }
        asked = targets_of(servers)
        targets = [{**each.login, "is_group_member": each.name in members} for each in asked]
        self._awaited = {each.name for each in asked}
        self._all_sampled = threading.Event()
        request = json.dumps({"interval_s": INTERVAL_S, "targets": targets})
        self._stream = stack.stream(client, script_argv(in_client.__name__, "sampler", request))
        self._reader = threading.Thread(target=self._read, name="sampler", daemon=True)

    def __enter__(self) -> "Sampler":
        self._reader.start()
        self._stream.send("begin")
        return self

    def close(self) -> None:
        """Ends it, even before it has started; harmless after its block."""
        end_stream(self._stream, END_LIMIT_S)

    def wait_for_first(self) -> None:
        """Returns when every server has been sampled, so that connecting is not part of the
        measurement.
        """
        self._all_sampled.wait(FIRST_SAMPLE_LIMIT_S)

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends it, and returns when every line is in the file; harmless when repeated."""
        self.close()
        self._reader.join(END_LIMIT_S)

    def _read(self) -> None:
        with self._path.open("w", encoding="utf-8") as file:
            for line in self._stream.lines():
                file.write(line + "\n")
                self._note(line)
        self._all_sampled.set()

    def _note(self, line: str) -> None:
        try:
            sample = json.loads(line)
        except json.JSONDecodeError:  # a complaint of Python's; it is in the file
            return
        node = sample.get("node")
        if "host" in sample:
            self.host_lines.append(sample)
        elif node is not None:
            status = sample["status"] or {}
            self.sampled[node] += bool(status)
            self._awaited.discard(node)
            for name in self.watched.keys() & status.keys():
                self.watched[name].setdefault(node, []).append(status[name])
        if not self._awaited and self.host_lines:
            self._all_sampled.set()

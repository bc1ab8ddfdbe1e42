"""News of nodes while they start: their own answers, from a loop inside a container, and their deaths."""

import queue
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from sandbox.stack.engine import Docker, end_group
from sandbox.stack.inventory import LABEL

_ROUND_S = 20
"""How long the loop in the container runs on its own: if it outlives us, it ends soon."""
_AGAIN = 75
_PAUSE_S = 0.2

# One exec for many questions (20 ms each instead of 95). Prints each new answer.
# The shell reads the clock itself: `date` would cost a process per question while servers start.
_LOOP = f"""
last=
read -r now _ </proc/uptime
end=$((${{now%.*}} + {_ROUND_S}))
while :; do
  if answer=$(sh /sandbox/probe "$1" 2>&1); then
    case $answer in  # a server may say its role at once
      writer | reader* | stale* | detached*) role=$answer ;;
      *) [ -z "$2" ] || role=$(sh /sandbox/probe "$2") || role= ;;
    esac
    [ -z "$2" ] || [ -z "$role" ] || printf 'role %s\\n' "$role"
    printf 'ready %s\\n' "$answer"
    exit 0
  fi
  [ "$answer" = "$last" ] || printf 'waiting %s\\n' "$answer"
  last=$answer
  read -r now _ </proc/uptime
  [ "${{now%.*}}" -lt "$end" ] || exit {_AGAIN}
  sleep 0.1
done
"""


@dataclass(frozen=True, slots=True)
class News:
    """One piece of news of a node; ``broken``: the question about its readiness failed."""

    node: str
    kind: Literal["waiting", "role", "ready", "broken", "died"]
    text: str = ""


NewsQueue = queue.SimpleQueue[News]


class ReadinessLoop:
    """Asks one node until it is ready, and puts its news into the queue."""

    def __init__(self, docker: Docker, node: str, container_id: str, question: str, role: str, news: NewsQueue) -> None:
        """``container_id``, ``question``: where the node's probe is, and the question for it.

        ``role``: the question for it once the node is ready; empty: none.
        """
        self._docker, self._node, self._news = docker, node, news
        self._argv = ("exec", container_id, "sh", "-c", _LOOP, "probe", question, role)
        self._ended = threading.Event()
        self._guard = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._ask, name=f"ready {node}", daemon=True)

    def start(self) -> None:
        """Starts to ask."""
        self._thread.start()

    def end(self) -> None:
        """Stops asking and waits for the thread."""
        with self._guard:
            self._ended.set()
            if self._process is not None:
                end_group(self._process)
        if self._thread.ident is not None:
            self._thread.join()

    def _ask(self) -> None:
        while not self._ended.is_set():
            with self._guard:
                if self._ended.is_set():
                    return
                self._process = self._docker.stream(*self._argv)
            last = self._listen(self._process)
            code = self._process.wait()
            if code == 0 or self._ended.is_set():
                return
            if code != _AGAIN:
                self._news.put(News(self._node, "broken", last or f"exit code {code}"))
                self._ended.wait(_PAUSE_S)

    def _listen(self, process: "subprocess.Popen[str]") -> str:
        """Passes answers on as they arrive; returns the last line that was not an answer."""
        last = ""
        for line in process.stdout or ():
            kind, _, text = line.rstrip("\n").partition(" ")
            if kind in ("waiting", "role", "ready"):
                self._news.put(News(self._node, kind, text))  # type: ignore[arg-type]
            else:
                last = line.strip() or last
        return last


@contextmanager
def deaths(docker: Docker, project: str, news: NewsQueue) -> Iterator[None]:
    """Puts every container of the project that dies into the queue, from shortly before the block until its end."""
    process = docker.stream(
        "events",
        "--since",
        "2s",
        "--filter",
        f"label={LABEL}={project}",
        "--filter",
        "event=die",
        "--format",
        '{{index .Actor.Attributes "sandbox.node"}}',
    )

    def listen() -> None:
        for line in process.stdout or ():
            news.put(News(line.strip(), "died"))

    thread = threading.Thread(target=listen, name="deaths", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end_group(process)
        thread.join()

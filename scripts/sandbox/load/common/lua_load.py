"""A load of our own: the Lua of its folder, run by sysbench in the client node; `engine.lua`
counts.
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from sandbox.core.plugin_options import OptionValue
from sandbox.load.common.load_output import EngineOutput, LoadOutput, parse_line
from sandbox.load.common.sysbench_load import SysbenchLoad, as_option, sysbench_argv
from sandbox.load.common.workload import Parameters, Session
from sandbox.record.record import PreparationRecord
from sandbox.stack.client_python import folder_of, ship
from sandbox.stack.protocol import EntryPoint

PREPARE_THREADS = 8
SCRIPT = "load.lua"
SHARED = ("engine.lua", "mysql.lua")


class LuaLoad(SysbenchLoad):
    """A workload whose folder has a ``load.lua``: transactions, and the commands that make its
    data.
    """

    commands: ClassVar[tuple[str, ...]] = ("create",)
    output: ClassVar[type[LoadOutput]] = EngineOutput

    @property
    def uses(self) -> frozenset[str]:
        """Each one supports a rate."""
        return frozenset({"rate_per_s"})

    @property
    def background_threads(self) -> int:
        """Additional threads, which accompany the load."""
        return 0

    def script_options(self, parameters: Parameters) -> Mapping[str, OptionValue]:  # noqa: ARG002  (some need them)
        """Options of the script: ``batch_rows`` becomes ``--batch-rows``."""
        return self.options()

    def scripts(self) -> dict[str, str]:
        """Path → text of what runs in the client node: the Lua of its folder, the engine and the
        connection.
        """
        own = [
            file for file in files(type(self).__module__).iterdir() if file.name.endswith(".lua")
        ]
        texts = {
            name: files(__package__).joinpath(name).read_text(encoding="utf-8") for name in SHARED
        }
        return texts | {
            f"{self._folder}/{file.name}": file.read_text(encoding="utf-8") for file in own
        }

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the scripts to the client node first."""
        ship(session.stack, session.client, self.scripts())
        return super().prepare(session, log)

    def prepare_argv(self, session: Session, command: str) -> list[str]:
        """A command of its script."""
        return [*self._argv(session, session.writer, PREPARE_THREADS), command]

    def load_argv(self, session: Session) -> list[str]:
        """With the threads that accompany the load."""
        background = self.background_threads
        argv = self._argv(session, session.entry, session.parameters.threads + background)
        return [*argv, f"--background-threads={background}"]

    def phase_options(self, session: Session, seed: int) -> list[str]:
        """The seed, and the rate if there is one."""
        rate = session.parameters.rate_per_s
        return [f"--seed={seed}", *([f"--pace-per-s={rate}"] if rate else [])]

    def progress(self, line: str, seconds: float) -> str | None:  # noqa: ARG002  (the script says what it counts)
        """What the script reports itself."""
        parsed = parse_line(line) or {}
        return str(parsed["progress"]) if "progress" in parsed else None

    @property
    def _folder(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    def _argv(self, session: Session, entry: EntryPoint, threads: int) -> list[str]:
        """The command as it can be typed in the client node."""
        folder = folder_of(self.scripts())
        options = self.script_options(session.parameters).items()
        return [
            *("env", f"LUA_PATH={folder}/?.lua;;"),
            *sysbench_argv(f"{folder}/{self._folder}/{SCRIPT}", entry),
            f"--threads={threads}",
            *(as_option(name, value) for name, value in options),
        ]

"""corruption: a page of a table is damaged on disk."""

import shlex
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sandbox.core.errors import MachineError, SandboxError
from sandbox.failure.fault import Ending, Fault, Scene
from sandbox.failure.faults.common.node import (
    DATA,
    has_ended,
    inside,
    is_up,
    kill_server,
    revive,
    server_lives,
    start_without_server,
)
from sandbox.stack.control import asking
from sandbox.stack.protocol import NodeControl

_TO_DIGITS = """\
while IFS= read -r -d '' -n 1 byte; do printf '%02x' "$(($(printf %d "'$byte") & 255))"; done
"""


def reading(path: str, offset: int) -> str:
    """The script that prints four bytes of a file in hexadecimal."""
    return f"""\
[ -e {shlex.quote(path)} ] || {{ echo 'there is no such file' >&2; exit 1; }}
dd if={shlex.quote(path)} bs=1 skip={offset} count=4 2>/dev/null | LC_ALL=C bash -c {shlex.quote(_TO_DIGITS)}
"""  # noqa: E501


def writing(path: str, offset: int, digits: str) -> str:
    """The script that replaces bytes of a file by those given in hexadecimal."""
    octal = "".join(f"\\{byte:03o}" for byte in bytes.fromhex(digits))
    file = shlex.quote(path)
    return (
        f"[ -e {file} ] && printf '{octal}' | dd of={file} bs=1 seek={offset} conv=notrunc,fsync\n"
    )


def read_bytes(node: NodeControl, path: str, offset: int) -> str:
    """Four bytes of a file in hexadecimal; fewer at its end. Raises SandboxError (exit 4) where it
    does not exist.
    """
    return inside(node, reading(path, offset), f"reading {path}").strip()


def write_bytes(node: NodeControl, path: str, offset: int, digits: str) -> None:
    """Replaces bytes of a file by those given in hexadecimal, and reads them back. Raises
    SandboxError (exit 4).
    """
    inside(node, writing(path, offset, digits), f"writing to {path}")
    found = read_bytes(node, path, offset)
    if found != digits:
        raise MachineError(
            f"{path} cannot be changed", f"{found} instead of {digits} at {offset}", "try: make ps"
        )


# Offset in a page; its checksum covers it, and it never changes: what is restored is right, always.
_PAGE_NUMBER = 4
# A page written lately may be in memory only; a server without room for changed pages writes them
# all.
_WRITE_BACK = """\
SET @full = @@GLOBAL.innodb_max_dirty_pages_pct, @low = @@GLOBAL.innodb_max_dirty_pages_pct_lwm;
SET GLOBAL innodb_max_dirty_pages_pct = 0; DO SLEEP(1);
SET GLOBAL innodb_max_dirty_pages_pct = @full; SET GLOBAL innodb_max_dirty_pages_pct_lwm = @low;
"""


class Corruption(Fault):
    """A page of a table is damaged while the server is down: reads of it fail, and the server may
    end or not start.
    """

    ending: ClassVar[Ending] = "ends the container"
    heals_inside: ClassVar[bool] = True
    file: str = Field(
        default="sandbox/ledger",
        pattern=r"^[\w$@#-]+/[\w$@#-]+$",
        description="table, as schema/table on disk",
    )
    page: int = Field(
        default=4, ge=1, le=2**31, description="number of the page; 3 or 4 is an index's first"
    )
    page_bytes: int = Field(default=16384, ge=4096, le=65536, description="innodb_page_size")

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        if self._read(node) != self._intact:
            inside(node, asking(_WRITE_BACK), f"writing back the pages of {node.name}")
        found = self._read(node)
        if found != self._intact:
            known = (
                f"its number there is {found or 'absent'}: not written yet, or another"
                " innodb_page_size"
            )
            step = "try: make fault FAULT=corruption OPTIONS=page=3"
            raise MachineError(f"{self._path} has no page {self.page}", known, step)
        return {"file": self._path, "offset": str(self._offset), "bytes": found}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        kill_server(node)
        write_bytes(node, self._path, self._offset, self._damaged)
        node.signal("USR2")

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        try:
            return "the page is as it was" if self._read(node) == self._intact else None
        except SandboxError:
            if has_ended(node):  # the server refuses to start
                return None
            raise

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:
        path = before["file"]
        offset = int(before["offset"])
        intact = before["bytes"]
        if node.state() == "gone" or (
            is_up(node) and server_lives(node) and read_bytes(node, path, offset) == intact
        ):
            return
        start_without_server(node)
        write_bytes(node, path, offset, intact)
        revive(node)

    @property
    def _path(self) -> str:
        return f"{DATA}/{self.file}.ibd"

    @property
    def _offset(self) -> int:
        return self.page * self.page_bytes + _PAGE_NUMBER

    @property
    def _intact(self) -> str:
        """A page's own number, in hexadecimal. Source: InnoDB, fil0types.h, FIL_PAGE_OFFSET."""
        return f"{self.page:08x}"

    @property
    def _damaged(self) -> str:
        return f"{self.page ^ 0xFFFFFFFF:08x}"

    def _read(self, node: NodeControl) -> str:
        return read_bytes(node, self._path, self._offset)

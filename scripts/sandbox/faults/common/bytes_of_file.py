"""Reads and replaces a few bytes of a file in a node, with no more than what every server's image has."""

import shlex

from sandbox.errors import MachineError
from sandbox.faults.common.node import inside
from sandbox.stack.protocol import NodeControl

_TO_DIGITS = """\
while IFS= read -r -d '' -n 1 byte; do printf '%02x' "$(($(printf %d "'$byte") & 255))"; done
"""


def reading(path: str, offset: int) -> str:
    """The script that prints four bytes of a file in hexadecimal."""
    return f"""\
[ -e {shlex.quote(path)} ] || {{ echo 'there is no such file' >&2; exit 1; }}
dd if={shlex.quote(path)} bs=1 skip={offset} count=4 2>/dev/null | LC_ALL=C bash -c {shlex.quote(_TO_DIGITS)}
"""


def writing(path: str, offset: int, digits: str) -> str:
    """The script that replaces bytes of a file by those given in hexadecimal."""
    octal = "".join(f"\\{byte:03o}" for byte in bytes.fromhex(digits))
    file = shlex.quote(path)
    return f"[ -e {file} ] && printf '{octal}' | dd of={file} bs=1 seek={offset} conv=notrunc,fsync\n"


def read_bytes(node: NodeControl, path: str, offset: int) -> str:
    """Four bytes of a file in hexadecimal; fewer at its end. Raises SandboxError (exit 4) where it does not exist."""
    return inside(node, reading(path, offset), f"reading {path}").strip()


def write_bytes(node: NodeControl, path: str, offset: int, digits: str) -> None:
    """Replaces bytes of a file by those given in hexadecimal, and reads them back. Raises SandboxError (exit 4)."""
    inside(node, writing(path, offset, digits), f"writing to {path}")
    found = read_bytes(node, path, offset)
    if found != digits:
        raise MachineError(f"{path} cannot be changed", f"{found} instead of {digits} at {offset}", "try: make ps")

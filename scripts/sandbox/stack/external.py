"""The password of an external server: from a file or a prompt, never from an address or an option."""

import os
import sys
from getpass import getpass
from pathlib import Path

from sandbox.errors import SandboxError

VARIABLE = "EXTERNAL_PASSWORD_FILE"


def external_password(address: str) -> str:
    """The first line of the file that EXTERNAL_PASSWORD_FILE names, else what is typed at the prompt.

    Raises SandboxError (exit 2) where neither gives one.
    """
    path = os.environ.get(VARIABLE)
    if path:
        return _read(Path(path))
    if sys.stdin.isatty():
        typed = getpass(f"password for {address}: ")
        if typed:
            return typed
    raise SandboxError(
        f"no password was given for {address}",
        f"it comes from the file in the environment variable {VARIABLE}, or from a prompt in a terminal",
        f"try: {VARIABLE}=<file> make up PROFILE=external EXTERNAL={address}",
    )


def _read(path: Path) -> str:
    try:
        password = path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as problem:
        raise SandboxError(f"{VARIABLE}={path} cannot be read", str(problem), f"try: ls -l {path}") from problem
    if password:
        return password
    raise SandboxError(f"{VARIABLE}={path} is empty", "its first line must be the password", f"try: ls -l {path}")

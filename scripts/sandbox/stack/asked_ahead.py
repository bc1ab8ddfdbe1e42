"""Questions that the engine's client is asked while Python still reads the command that needs them.

This module imports next to nothing, and is imported first. An answer belongs to the command of this
process, is given out once, and stands for what was asked when the process began.
"""

import codecs
import subprocess
from collections.abc import Sequence
from contextlib import suppress

INFO = ("info", "--format", "{{json .}}")
"""Describes the engine and its machine."""
LOCAL_IMAGES = ("image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
"""The names of the images on the engine."""


def _bytes_as_they_are(problem: UnicodeError) -> tuple[str | bytes, int]:
    """Written bytes as they were read (`surrogateescape`); � for each read byte that is no text."""
    return codecs.lookup_error(
        "surrogateescape" if isinstance(problem, UnicodeEncodeError) else "replace"
    )(problem)


codecs.register_error("bytes as they are", _bytes_as_they_are)


_begun: dict[Sequence[str], "subprocess.Popen[str]"] = {}


def ask_ahead(*questions: Sequence[str]) -> None:
    """Starts the client for each; without a client nothing begins, and the command itself says
    so.
    """
    for argv in questions:
        with suppress(FileNotFoundError):
            _begun[argv] = start_client(
                ["docker", *argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )


def taken(argv: Sequence[str]) -> "subprocess.Popen[str] | None":
    """The client that was asked this ahead; None if it was not, or its answer was taken before."""
    return _begun.pop(argv, None)


def start_client(
    argv: Sequence[str], process_group: int | None = 0, **options: object
) -> "subprocess.Popen[str]":
    """Runs in the root folder, so that no `.env` and no Compose file of the current one takes
    effect. Raises FileNotFoundError.
    """
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        argv,
        text=True,
        encoding="utf-8",
        errors="bytes as they are",
        process_group=process_group,
        cwd="/",
        **options,
    )

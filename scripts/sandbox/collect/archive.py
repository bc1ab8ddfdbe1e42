"""The files of a collection, masked as they are written, and their archive."""

import os
import tarfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import zstandard

from sandbox.core.errors import MachineError
from sandbox.record.redaction import mask, mask_bytes, mask_variables

SUFFIX = ".tar.zst"
_LEVEL = 6
_THREADS = -1
"""As many as there are processors."""
_CHUNK = 1 << 20


@dataclass
class EvidenceFolder:
    """Files by path; no password reaches the disk. Threads write different files at once."""

    path: Path
    secrets: Collection[str]
    files: dict[str, int] = field(default_factory=dict)
    """Path → bytes."""
    missing: dict[str, str] = field(default_factory=dict)
    """Path, or name of a node → why it could not be had."""
    _cores: dict[str, "_MaskedCore"] = field(default_factory=dict)

    def write(self, name: str, text: str, are_pairs: bool = False) -> None:
        """A file of text. ``are_pairs``: a name, a tab and a value in each line."""
        if are_pairs:
            text = _masked_pairs(text, self.secrets)
        place = self._place(name)
        content = mask(text, self.secrets).encode("utf-8", "surrogateescape")
        place.write_bytes(content)
        self.files[name] = len(content)

    def write_part(self, name: str, compressed: bytes) -> None:
        """A further part of a core that comes as Zstandard."""
        if name not in self._cores:
            self._cores[name] = _MaskedCore(self._place(name).open("wb"), self.secrets)
        self._cores[name].add(compressed)

    def lacks(self, name: str, reason: str) -> None:
        """Notes why a file, or all of a node, could not be had."""
        self.missing[name] = mask(" ".join(reason.split()), self.secrets)

    def close(self) -> None:
        """Ends the files that came in parts."""
        for name, core in self._cores.items():
            self.files[name] = core.close()
        self._cores.clear()

    def _place(self, name: str) -> Path:
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def _masked_pairs(text: str, secrets: Collection[str]) -> str:
    pairs = [line.partition("\t") for line in text.splitlines()]
    shown = mask_variables({name: value for name, _, value in pairs}, secrets)
    return "".join(f"{name}{tab}{shown[name]}\n" for name, tab, _ in pairs)


class _MaskedCore:
    """A file of memory: passwords are overwritten, also where one lies across two parts."""

    def __init__(self, file: BinaryIO, secrets: Collection[str]) -> None:
        self._file = file
        self._secrets = secrets
        self._kept = max((len(secret.encode()) for secret in secrets), default=1) - 1
        self._unpacked = zstandard.ZstdDecompressor().decompressobj()
        self._end = b""
        self._length = 0

    def add(self, compressed: bytes) -> None:
        """Writes a part but for its end, in which a password may begin."""
        data = mask_bytes(self._end + self._unpacked.decompress(compressed), self._secrets)
        whole = max(0, len(data) - self._kept)
        self._put(data[:whole])
        self._end = data[whole:]

    def close(self) -> int:
        """Writes the end; the length of the file."""
        self._put(self._end)
        self._file.close()
        return self._length

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._length += len(data)


@contextmanager
def evidence_folder(archive: Path, secrets: Collection[str]) -> Iterator[EvidenceFolder]:
    """A folder for the files beside their archive, gone in the end. Raises MachineError (exit 4)
    where it cannot be made.
    """
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        temporary = TemporaryDirectory(prefix=".collect-", dir=archive.parent)
    except OSError as problem:
        raise _unwritable(archive, problem) from problem
    with temporary as folder:
        yield EvidenceFolder(Path(folder), secrets)


def pack(folder: EvidenceFolder, archive: Path, top: str) -> int:
    """Writes the archive whole or not at all, for its owner alone; its length in bytes.

    ``top``: the folder in it. Raises MachineError (exit 4) where it cannot be written.
    """
    temporary = archive.with_name(f".{archive.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            _compress(folder.path, folder.files, file, top)
        length = temporary.stat().st_size
        temporary.replace(archive)
    except OSError as problem:
        raise _unwritable(archive, problem) from problem
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return length


def _compress(folder: Path, files: Mapping[str, int], file: BinaryIO, top: str) -> None:
    packer = zstandard.ZstdCompressor(level=_LEVEL, threads=_THREADS)
    with (
        packer.stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        for name in files:
            tar.add(folder / name, f"{top}/{name}", recursive=False, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member that says nothing of whoever packed it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


def _unwritable(archive: Path, problem: OSError) -> MachineError:
    return MachineError(
        f"{archive} cannot be written", str(problem), f"try: make collect OUT=/tmp/evidence{SUFFIX}"
    )


def read_archive(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file of an archive, its first folder included."""
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as unpacked,
        tarfile.open(fileobj=unpacked, mode="r|") as tar,
    ):
        for member in tar:
            content = tar.extractfile(member)
            if content is not None:
                yield member.name, content.read()

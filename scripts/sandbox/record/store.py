"""The folder of a result: the only part of `results` that touches files; every write is atomic."""

import csv
import os
import re
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic_core import from_json

from sandbox.core.paths import flush_folder, write_atomically
from sandbox.record.manifest import Manifest, MatrixPart, RepeatsPart, ReprosPart, RunEntry
from sandbox.record.record import Record
from sandbox.record.redaction import refuse_secrets


def slug_of(text: str) -> str:
    """``text`` as part of a folder name: ``galera3+haproxy`` → ``galera3-haproxy``, at most 60
    characters.
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:60].rstrip("-.") or "result"


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """``results/<utc>-<slug>/``: created by ``create``, filled run by run, closed by ``finish``."""

    path: Path

    @classmethod
    def create(cls, results: Path, manifest: Manifest) -> "ResultFolder":
        """Creates the folder; another one of the same second and slug gets a number. Raises
        OSError.
        """
        results.mkdir(parents=True, exist_ok=True)
        folder = cls(_make_new(results, f"{manifest.started_utc:%Y%m%dT%H%M%SZ}-{manifest.slug}"))
        (folder.path / "runs").mkdir()
        folder._write_manifest(manifest)
        return folder

    @property
    def manifest(self) -> Manifest:
        """The manifest on disk; of a trial that an earlier version called a bench, with the kind of
        a trial.
        """
        manifest = self._stored_manifest()
        if manifest.kind == "bench" and any(self._is_trial(entry.run) for entry in manifest.runs):
            return manifest.model_copy(update={"kind": "trial"})
        return manifest

    def _stored_manifest(self) -> Manifest:
        """The manifest as its file has it."""
        return Manifest.model_validate_json(
            (self.path / "manifest.json").read_text(encoding="utf-8")
        )

    def _is_trial(self, run: str) -> bool:
        """Whether the record of a run has a trial; no for one that is missing or broken."""
        with suppress(OSError, ValueError):
            record = from_json((self._run(run) / "record.json").read_bytes())
            return isinstance(record, dict) and bool(record.get("trial"))
        return False

    def start_run(self, cell: str, block: int) -> Path:
        """Folder ``runs/<cell>.<block>``, created empty; removes what an earlier run left in it,
        its entry first.
        """
        folder = self._run(f"{cell}.{block}")
        others = self._entries_without(f"{cell}.{block}")
        if len(others) < len(self.manifest.runs):
            self._note(runs=others)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def records(self) -> list[Record]:
        """Every saved record, in execution order."""
        return [self.record(entry.run) for entry in self.manifest.runs]

    def readable_records(self) -> tuple[list[Record], dict[str, str]]:
        """Every saved record that can be read; and the others, by run, with the reason."""
        records = []
        broken = {}
        for entry in self.manifest.runs:
            try:
                records.append(self.record(entry.run))
            except (OSError, ValueError) as problem:  # a ValidationError is a ValueError
                broken[entry.run] = str(problem).splitlines()[0]
        return records, broken

    def series(self, record: Record) -> list[float]:
        """Transactions per second of the measured window, second by second; empty where no series
        was saved.
        """
        return self.seconds(record).get("tps", [])

    def seconds(self, record: Record) -> dict[str, list[float]]:
        """Column → figures of the measured window, second by second; empty where no series was
        saved.
        """
        path = self.run_path(record) / record.files.get("series", "")
        if not path.is_file():
            return {}
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.pop("phase") == "measure"]
        return {name: [float(row[name]) for row in rows] for name in (rows[0] if rows else ())}

    def samples(self, record: Record, word: str = "samples") -> list[bytes]:
        """The lines of a record's one-second samples, or those of its file of another label; empty
        without any.
        """
        path = self.run_path(record) / record.files.get(word, "")
        return path.read_bytes().splitlines() if path.is_file() else []

    def raw_files(self, record: Record) -> dict[str, str]:
        """The record and every existing file next to it: label → path relative to the result's
        folder.
        """
        run = f"runs/{record.cell}.{record.block}"
        named = {"record": "record.json", **record.files}
        return {
            word: f"{run}/{path}"
            for word, path in named.items()
            if (self.path / run / path).is_file()
        }

    def run_path(self, record: Record) -> Path:
        """The folder of a record."""
        return self._run(f"{record.cell}.{record.block}")

    def note(self, **changes: object) -> MatrixPart:
        """Stores changes of a matrix's part; returns the part. Raises ValueError if the result is
        not a matrix.
        """
        if (part := self.manifest.matrix) is None:
            raise ValueError(f"{self.path.name} is not a matrix")
        part = part.model_copy(update=changes)
        self._note(matrix=part)
        return part

    def note_repeats(self, repeats: RepeatsPart) -> None:
        """Stores how a series of trials stands."""
        self._note(repeats=repeats)

    def note_repro(self, **changes: object) -> ReprosPart:
        """Stores changes of the part of repros; returns the part. Raises ValueError if there is
        none.
        """
        if (part := self.manifest.repro) is None:
            raise ValueError(f"{self.path.name} is not of repros")
        part = part.model_copy(update=changes)
        self._note(repro=part)
        return part

    def save(self, record: Record, secrets: Collection[str]) -> Path:
        """Writes the record and adds it to the manifest; returns its path.

        Raises SecretFoundError if the record contains a password, OSError when it cannot be
        written.
        """
        text = record.to_json()
        path = self.run_path(record) / "record.json"
        refuse_secrets(text, secrets, str(path))
        write_atomically(path, text)
        entry = RunEntry(run=path.parent.name, status=record.status)
        self._note(runs=[*self._entries_without(entry.run), entry])
        return path

    def finish(self, ended_utc: datetime) -> None:
        """Stores the end time and points the link ``results/latest`` here."""
        self._note(ended_utc=ended_utc)
        link = self.path.parent / f".latest.{os.getpid()}.tmp"
        link.unlink(missing_ok=True)
        link.symlink_to(self.path.name)
        link.replace(self.path.parent / "latest")
        flush_folder(self.path.parent)

    def _entries_without(self, run: str) -> list[RunEntry]:
        return [entry for entry in self.manifest.runs if entry.run != run]

    def _run(self, name: str) -> Path:
        return self.path / "runs" / name

    def record(self, run: str) -> Record:
        """The record of one run, by its name. Raises OSError, ValueError."""
        return Record.model_validate_json(
            (self._run(run) / "record.json").read_text(encoding="utf-8")
        )

    def _note(self, **changes: object) -> None:
        self._write_manifest(self._stored_manifest().model_copy(update=changes))

    def _write_manifest(self, manifest: Manifest) -> None:
        write_atomically(self.path / "manifest.json", manifest.model_dump_json(indent=2) + "\n")


def all_results(results: Path) -> list[ResultFolder]:
    """Every result that has a manifest, oldest first."""
    return [ResultFolder(path.parent) for path in sorted(results.glob("2*/manifest.json"))]


def readable_results(
    results: Path, note: Callable[[str], None]
) -> list[tuple[ResultFolder, Manifest]]:
    """Every result with its manifest, newest first; one that cannot be read is skipped with a
    note.
    """
    found = []
    for result in reversed(all_results(results)):
        try:
            found.append((result, result.manifest))
        except (
            OSError,
            ValueError,
        ) as problem:  # a ValidationError (another version of this tool) is a ValueError
            note(f"skipped  {result.path.name}/manifest.json: {str(problem).splitlines()[0]}")
    return found


def _make_new(results: Path, stem: str) -> Path:
    number = 1
    while True:
        path = results / (stem if number == 1 else f"{stem}-{number}")
        with suppress(FileExistsError):
            path.mkdir()
            return path
        number += 1

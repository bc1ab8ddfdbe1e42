"""Packs a repro: in which version, with what came of it, written whole or not at all."""

import gzip
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from sandbox.cli.common.results import read_records
from sandbox.cli.common.showing import show
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import HERE, RESULTS
from sandbox.core.yaml_lines import YamlFile
from sandbox.judge.repros import row_of
from sandbox.profile.images import Availability
from sandbox.profile.library import Library
from sandbox.profile.plan import Plan
from sandbox.profile.reader import load_library, load_lock
from sandbox.profile.templates import Secrets
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder, readable_results
from sandbox.report.bug_report import BugReport, CarriedOut, bug_report
from sandbox.repro.definition import Repro
from sandbox.repro.file import read_with_file
from sandbox.repro.pack.document import packed
from sandbox.repro.pack.quoting import statements_apart
from sandbox.repro.pack.refusal import UnpackableError
from sandbox.repro.pack.servers import variables_of_servers
from sandbox.repro.pack.unpackable import refuse_unpublished
from sandbox.repro.pack.versions import (
    exact_versions,
    server_image,
    version_to_pack,
    with_published_images,
)
from sandbox.repro.runner import ReproCell
from sandbox.repro.versions import VersionOfRepro, variants_of
from sandbox.stack.engine import Docker
from sandbox.stack.planning import available_here, offline_plan, planned
from sandbox.stack.secrets import draw_secrets

COMPOSE_FILE = "compose.yaml"
REPORT = "report.md"
PACKS = RESULTS / "packs"


def pack(
    word: str | None,
    versions: str | None,
    profile: str | None,
    sets: Sequence[str],
    to: str | None,
    as_json: bool,
    *,
    local: bool,
) -> int:
    """Writes a Compose file and a report for each version; prints where they are.

    Raises SandboxError: exit 2 for what a pack cannot say, before anything is written; exit 4
    where an image that is to be here is not.
    """
    if word is None:
        known = "a pack is made of one repro"
        raise SandboxError("no REPRO was given", known, "try: make list WHAT=repros")
    repro, file = read_with_file(word)
    changes = {"profile": profile, "set": list(sets)}
    repro = repro.with_changes({key: value for key, value in changes.items() if value})
    try:
        made = _packs(repro, versions, local)
    except UnpackableError as problem:
        raise _refused(problem, file, word) from problem
    if to and len(made) > 1:
        what = f"TO={to} is one folder, and {len(made)} versions are packed"
        raise SandboxError(what, "each has a folder of its own", "try: the same without TO=")
    written = []
    for variant, compose, report in made:
        name = f"{repro.name}-{variant.version}"
        folder = Path(to) if to else PACKS / name
        written.append(_write(folder, compose, report))
    lines = []
    for path in written:
        lines += [f"{path}", f"{path.with_name(REPORT)}", *_commands(path)]
    data = [{"compose": str(path), "report": str(path.with_name(REPORT))} for path in written]
    show(as_json, data, lines)
    return int(ExitCode.OK)


def _commands(path: Path) -> list[str]:
    compose = f"docker compose -f {shlex.quote(str(path))}"
    return [
        f"  {compose} up --exit-code-from repro   (0 reproduced, 1 fixed, 3 neither)",
        f"  {compose} down -v",
    ]


def _packs(
    repro: Repro, versions: str | None, local: bool
) -> list[tuple[VersionOfRepro, str, str]]:
    """For each version the Compose file and the report. Raises UnpackableError, SandboxError."""
    library = load_library()
    docker = Docker() if local else None
    if docker is None:
        refuse_unpublished(repro)
        available = Availability(registry=lambda: True, lock=load_lock())
    else:
        available = available_here(docker, library)
    named = library if local else with_published_images(library)
    # What no version can have is reported first.
    _plan_of(ReproCell(repro, VersionOfRepro("", repro.profile)), named, docker)
    dump = _dump(repro)
    made = []
    for variant in _variants(repro, versions, library, named, available):
        plan = _planned(ReproCell(repro, variant), named, docker)
        secrets = draw_secrets(plan)
        compose = packed(repro, plan, secrets, dump)
        made.append((variant, compose, _report(repro, variant, plan, secrets)))
    return made


def _variants(
    repro: Repro, versions: str | None, library: Library, named: Library, available: Availability
) -> list[VersionOfRepro]:
    """``library``: with the exact builds that the catalog knows; ``named``: with the images that a
    pack names.
    """
    asked = [each.strip() for each in (versions or "").split(",") if each.strip()]
    if asked:
        return variants_of(repro.profile, asked, named, available)
    exact = exact_versions(server_image(repro, library))
    return [version_to_pack(repro, named, available, exact)]


def _plan_of(cell: ReproCell, library: Library, docker: Docker | None) -> Plan:
    if docker is None:
        return offline_plan(cell.request, registry=True, library=library)
    return planned(cell.request, library, docker)


def _planned(cell: ReproCell, library: Library, docker: Docker | None) -> Plan:
    """The plan with images of this engine; without one, with those that are published.

    Raises SandboxError (exit 2) for an image that is not on the engine.
    """
    plan = _plan_of(cell, library, docker)
    if docker is None:
        return plan
    for node in plan.databases:
        if node.choice.source != "local":
            raise SandboxError(
                f"LOCAL=1 names images that are here, and {node.image} is not",
                f"{node.name} needs it",
                f"try: make images PROFILE={cell.variant.profile}",
                ExitCode.ENVIRONMENT,
            )
    return plan


def _dump(repro: Repro) -> str | None:
    """The text of ``load.file``. Raises SandboxError (exit 2) where it is none."""
    if not repro.load.file:
        return None
    path = Path(repro.load.file)
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        what = f"load.file: {path} has no text that could stand in a pack"
        step = f"try: head -c 200 {path}"
        raise SandboxError(what, str(problem), step) from problem


def _refused(problem: UnpackableError, file: YamlFile, word: str) -> SandboxError:
    first, *others = problem.parts
    what = f"{file.where(first.place)}: {first.what} has no place in a pack"
    more = "".join(
        f"; neither has {each.what} (line {file.where(each.place).rpartition(':')[2]})"
        for each in others
    )
    return SandboxError(what, first.why + more, f"try: make repro REPRO={word}")


def _report(repro: Repro, variant: VersionOfRepro, plan: Plan, secrets: Secrets) -> str:
    load = repro.load
    data = [statements_apart(load.sql.strip())] if load.sql else []
    data += [f"-- and the dump {load.file}"] if load.file else []
    data += [
        f"-- and {rows.count} rows ({rows.values}) in {table}" for table, rows in load.rows.items()
    ]
    command = f"make repro REPRO={repro.name} VERSIONS={variant.version}"
    return bug_report(
        BugReport(
            title=repro.title,
            question=repro.question,
            links=repro.links,
            compose_file=COMPOSE_FILE,
            images={node.name: node.image for node in plan.databases},
            data="\n".join(data),
            steps=[step.text for step in repro.steps],
            bug=[each.text for each in repro.expect.bug],
            fixed=[each.text for each in repro.expect.fixed],
            variables=variables_of_servers(plan, secrets),
            command=command,
            came=newest_result(repro, plan, RESULTS),
        )
    )


def newest_result(repro: Repro, plan: Plan, results: Path) -> CarriedOut | None:
    """What came of a repro when it was carried out last; of several versions that of the plan."""
    writer = plan.databases[0]
    for result, manifest in readable_results(results, lambda note: print(note, file=sys.stderr)):
        if manifest.kind != "repro":
            continue
        records = [
            each
            for each in read_records(result)
            if each.repro is not None and each.repro.name == repro.name
        ]
        if records:
            return _carried_out(repro, result, _of_version(records, writer.version))
    return None


def _of_version(records: Sequence[Record], version: str) -> list[Record]:
    """The records of a cell: of the version, else of one that shows the bug, else of the first."""
    of_version = [each for each in records if each.repro and _is(each.repro.version, version)]
    shown = [each for each in records if each.repro and each.repro.verdict == "reproduced"]
    chosen = next(iter([*of_version, *shown, *records]))
    return [each for each in records if each.cell == chosen.cell]


def _is(reported: str | None, version: str) -> bool:
    return reported is not None and (reported + "-").startswith((f"{version}-", f"{version}."))


def _carried_out(repro: Repro, result: ResultFolder, records: Sequence[Record]) -> CarriedOut:
    row = row_of(records[0].cell, records)
    record = next(
        each for each in records if each.repro is not None and each.repro.verdict == row.verdict
    )
    folder = result.path / "runs" / f"{record.cell}.{record.block}"
    logs = {}
    for label, name in record.files.items():
        node = label.removeprefix("log_")
        if node != label and (folder / name).is_file():
            logs[node] = (folder / name).read_text(encoding="utf-8", errors="replace")
    assert record.repro  # noqa: S101  (only records of repros are asked)
    return CarriedOut(row, record, _shown(folder), record.repro.sha256 == repro.sha256, logs)


def _shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    return str(path.relative_to(HERE)) if path.is_relative_to(HERE) else str(path)


def _write(folder: Path, compose: str, report: str) -> Path:
    """Both files; the Compose file has passwords, and is for its owner alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / COMPOSE_FILE
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(compose)
        (folder / REPORT).write_text(report, encoding="utf-8")
    except OSError as problem:
        what = f"{folder} cannot be written"
        step = f"try: ls -ld {folder}"
        raise SandboxError(what, str(problem), step, ExitCode.ENVIRONMENT) from problem
    return Path(_shown(path))

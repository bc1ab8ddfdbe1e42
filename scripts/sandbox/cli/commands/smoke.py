"""smoke: is a head worse than a base? Three servers, a look of eight or sixteen blocks, a comment, an exit code."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.matrix_run import run_resolved
from sandbox.cli.common.options import Json, chosen, need_profile
from sandbox.cli.registry import About, as_typed
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.files import write_atomically
from sandbox.judge.calibration import Calibration, noise_of
from sandbox.judge.compare import judge_matrix
from sandbox.judge.gate import BLOCKS, EXIT_CODES, Look
from sandbox.matrix.definition import Change
from sandbox.matrix.resolve import Resolved, resolve
from sandbox.matrix.result_folder import known_noise, learn_from, note_noise, part_of
from sandbox.matrix.selection import BASE, HEAD, smoke_experiment
from sandbox.measure.run import LARGEST_SEED
from sandbox.profile.compose import compose_document
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan
from sandbox.profile.templates import PLACEHOLDER
from sandbox.record.record import Record, Status
from sandbox.record.store import ResultFolder
from sandbox.report.smoke_view import SmokeLook, SmokeReport, sentence, smoke_data, smoke_markdown
from sandbox.stack.engine import Docker
from sandbox.stack.images import image_override, volumes_of
from sandbox.stack.supply import refuse_unavailable

ABOUT = About(group="measure", after="matrix", recorded=True)

SidesProfile = Annotated[str | None, typer.Option(help="Profile of this side (PROFILE).")]
SidesShort = Annotated[str | None, typer.Option(help="Short for …_PROFILE.")]
SidesImage = Annotated[str | None, typer.Option(help="Local tag, sha256:… or .tar instead of the database image.")]
SidesSet = Annotated[list[str] | None, typer.Option(help="Server variables of this side, as SET takes them.")]
SidesCpus = Annotated[str | None, typer.Option(help="CPUs per database node of this side.")]
SidesMemory = Annotated[str | None, typer.Option(help="Memory per database node of this side.")]

SECONDS, WARM_UP_S = 5, 1
TABLES = 4
LOG_LINES = 20


def run(profile: str | None, base: Change, head: Change, load: Change, seed: int | None, as_json: bool) -> int:
    """Compares, prints the comment, writes it to ``smoke.md``; returns the exit code.

    A side without a profile has PROFILE's, else that of the other side.
    Raises SandboxError: exit 2 for invalid options, exit 4 for a missing image or a failure of the environment.
    """
    sides = {}
    for name, side, other in ((BASE, base, head), (HEAD, head, base)):
        sides[name] = side.model_copy(update={"profile": need_profile(side.profile or profile or other.profile)})
    with _images(sides) as given:
        experiment = smoke_experiment(given[BASE], given[HEAD], load, SECONDS, WARM_UP_S)
        resolved = replace(resolve(experiment), blocks=BLOCKS, afresh=True)
        _refuse(resolved)
        results = _looks(replace(resolved, gate=_blocks_to_add), seed)
    looks = [smoke_look(result) for result in results]
    lost = next((record for record in looks[-1].records if record.status == "infra_error"), None)
    log = _log_tail(results[-1], lost) if lost else []
    report = SmokeReport(looks, {name: asked(side) for name, side in sides.items()}, sys.argv, log)
    return _show(report, results, as_json)


def own_profile(word: str, short: str | None, profile: str | None) -> str | None:
    """The profile that a side was given by either name. Raises SandboxError (exit 2) if the two differ."""
    if short and profile and short != profile:
        what = f"{word}={short} and {word}_PROFILE={profile} contradict each other"
        step = f"try: make smoke PROFILE=mysql@9.7 {word}_PROFILE={profile}"
        raise SandboxError(what, f"{word}= is short for {word}_PROFILE=", step)
    return profile or short


def asked(side: Change) -> str:
    """A side in the user's words."""
    given = {"IMAGE": side.image, "SET": " ".join(side.set), "CPUS": side.cpus, "MEMORY": side.memory}
    return " ".join([f"`{side.profile}`", *(f"`{name}={value}`" for name, value in given.items() if value)])


@contextmanager
def _images(sides: dict[str, Change]) -> Iterator[dict[str, Change]]:
    """The sides with the identities of their image overrides, which stay on the engine until the end."""
    docker, given = Docker(), dict(sides)
    with ExitStack() as here:
        for name, side in sides.items():
            if side.image:
                image = here.enter_context(image_override(side.image, f"{name.upper()}_IMAGE", docker))
                given[name] = side.model_copy(update={"image": image})
        yield given


def _refuse(resolved: Resolved) -> None:
    """Refuses what cannot work before anything starts."""
    docker = Docker()
    for plan in [stack.plan for stack in resolved.stacks.values() if stack.plan]:
        refuse_unavailable(plan, docker)
        if plan.request.image:
            _refuse_volumes(plan, volumes_of(plan.request.image, docker))


def _refuse_volumes(plan: Plan, declared: set[str]) -> None:
    """A volume that the component does not mount would carry no label, and escape `make down`."""
    name = plan.databases[0].name
    service = compose_document(plan, PLACEHOLDER, Identity("smoke", ""))["services"][name]
    known = {str(volume).partition(":")[2].partition(":")[0] for volume in service.get("volumes", [])}
    known |= {str(path).partition(":")[0] for path in service.get("tmpfs", [])}
    if stray := sorted(declared - known):
        raise SandboxError(
            f"{plan.request.image} declares a volume that {plan.databases[0].component.name} does not mount",
            f"{', '.join(stray)}; mounted: {', '.join(sorted(known)) or 'none'}",
            f"try: docker image inspect {plan.request.image}   (then rebuild it without that VOLUME)",
            ExitCode.ENVIRONMENT,
        )


def _looks(resolved: Resolved, seed: int | None) -> list[ResultFolder]:
    """One look, and if that is worse, a repetition: new stacks, another seed."""
    first = _run(replace(resolved, seed=seed))
    if smoke_look(first).look.state != "suspected":
        return [first]
    print("smoke  looks worse; a fresh repetition on new stacks decides", file=sys.stderr, flush=True)
    return [first, _run(replace(resolved, seed=seed and seed % LARGEST_SEED + 1))]


def _run(resolved: Resolved) -> ResultFolder:
    try:
        result = run_resolved(resolved)
    except SandboxError as error:
        if error.exit_code is not ExitCode.INTERRUPTED:
            raise
        known = "every run that ended is saved, every stack is removed; an interrupted gate cannot be resumed"
        raise SandboxError(error.what, known, "try: the same command again", ExitCode.INTERRUPTED) from None
    note_noise(result, known_noise(result))  # as known before this look: its own canary counts from the next one on
    learn_from(result)
    return result


def _blocks_to_add(result: ResultFolder) -> int:
    """The gate of a look, asked while the stacks are up."""
    note_noise(result, known_noise(result))
    return smoke_look(result).look.blocks_to_add


def smoke_look(result: ResultFolder) -> SmokeLook:
    """The result of one look, judged."""
    manifest, part, records = result.manifest, part_of(result), result.records()
    took = (manifest.ended_utc - manifest.started_utc).total_seconds() if manifest.ended_utc else None
    known = noise_of(part, records, Calibration())  # as noted
    good = any(record.counts for record in records)
    judged = judge_matrix(part, records, result.series, known) if good else None
    look = Look(judged, part.blocks, _first(records, "infra_error"), _first(records, "failed"))
    return SmokeLook(result.path.name, part, records, look, took)


def _first(records: list[Record], status: Status) -> str | None:
    """The first run with this status, and its reason."""
    return next((f"{record.cell}: {record.reason}" for record in records if record.status == status), None)


def _log_tail(result: ResultFolder, record: Record) -> list[str]:
    """The end of the log of the node that failed; of the first node if none is named."""
    logs = {word.removeprefix("log_"): file for word, file in record.files.items() if file.startswith("logs/")}
    named = [file for node, file in logs.items() if node in (record.reason or "")]
    files = named or list(logs.values())
    if not files:
        return []
    path = result.path / "runs" / f"{record.cell}.{record.block}" / files[0]
    return path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]


def _show(report: SmokeReport, results: list[ResultFolder], as_json: bool) -> int:
    text = as_typed(smoke_markdown(report))
    for result in results:
        write_atomically(result.path / "smoke.md", text)
    print(json.dumps(smoke_data(report), indent=2) if as_json else text, end="\n" if as_json else "")
    print(f"smoke  {sentence(report)}", file=sys.stderr, flush=True)
    if report.outcome == "environment":
        what, step = "the smoke benchmark could not be run", f"try: ls {results[-1].path}"
        raise SandboxError(what, sentence(report), step, ExitCode.ENVIRONMENT)
    return int(EXIT_CODES[report.outcome])


def command(
    profile: Annotated[str | None, typer.Option(help="Profile of both sides.")] = None,
    base: SidesShort = None,
    head: SidesShort = None,
    base_profile: SidesProfile = None,
    base_image: SidesImage = None,
    base_set: SidesSet = None,
    base_cpus: SidesCpus = None,
    base_memory: SidesMemory = None,
    head_profile: SidesProfile = None,
    head_image: SidesImage = None,
    head_set: SidesSet = None,
    head_cpus: SidesCpus = None,
    head_memory: SidesMemory = None,
    workload: Annotated[str, chosen("Workload, such as oltp_read_write.", completion.workload)] = "oltp_read_only",
    threads: Annotated[int, typer.Option(min=1, help="Client threads (8).")] = 8,
    # Read-only: it measures the server, not the fsyncs of a shared disk. (WORKLOAD= takes any other.)
    rows: Annotated[int, typer.Option(min=1, help="Rows per table, of four tables (25000).")] = 25_000,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of order and load (random).")] = None,
    json: Json = False,
) -> int:
    """Check whether a build is slower than its base: a gate for pull requests."""
    load = Change(workload=workload, threads=threads, rows=rows, tables=TABLES)
    base_profile, head_profile = own_profile("BASE", base, base_profile), own_profile("HEAD", head, head_profile)
    of_base = Change(profile=base_profile, image=base_image, set=base_set or [], cpus=base_cpus, memory=base_memory)
    of_head = Change(profile=head_profile, image=head_image, set=head_set or [], cpus=head_cpus, memory=head_memory)
    return run(profile, of_base, of_head, load, seed, json)

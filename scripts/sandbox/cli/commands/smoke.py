"""smoke: is a head worse than a base? Three servers, a look of eight or sixteen blocks, a comment,
an exit code.
"""

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.options import Json, chosen, need_profile
from sandbox.cli.common.run_matrix import run_resolved
from sandbox.cli.registry import About, as_typed
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.files import write_atomically
from sandbox.judge.gate import EXIT_CODES
from sandbox.matrix.definition import Change
from sandbox.matrix.result_folder import part_of
from sandbox.matrix.smoke import BASE, HEAD, TABLES, asked, judged_look, log_of_lost, run_looks
from sandbox.record.store import ResultFolder
from sandbox.report.smoke import SmokeLook, SmokeReport, sentence, smoke_data, smoke_markdown

ABOUT = About(group="measure", after="matrix", recorded=True)

SidesProfile = Annotated[str | None, typer.Option(help="Profile of this side (PROFILE).")]
SidesShort = Annotated[str | None, typer.Option(help="Short for …_PROFILE.")]
SidesImage = Annotated[
    str | None, typer.Option(help="Local tag, sha256:… or .tar instead of the database image.")
]
SidesSet = Annotated[
    list[str] | None, typer.Option(help="Server variables of this side, as SET takes them.")
]
SidesCpus = Annotated[str | None, typer.Option(help="CPUs per database node of this side.")]
SidesMemory = Annotated[str | None, typer.Option(help="Memory per database node of this side.")]


def run(
    profile: str | None, base: Change, head: Change, load: Change, seed: int | None, as_json: bool
) -> int:
    """Compares, prints the comment, writes it to ``smoke.md``; returns the exit code.

    A side without a profile has PROFILE's, else that of the other side.
    Raises SandboxError: exit 2 for invalid options, exit 4 for a missing image or a failure of the
    environment.
    """
    sides = {BASE: _with_profile(base, profile, head), HEAD: _with_profile(head, profile, base)}
    results = run_looks(sides, load, seed, run_resolved, _note)
    return _show(_report(sides, results), results, as_json)


def _with_profile(side: Change, profile: str | None, other: Change) -> Change:
    chosen_profile = need_profile(side.profile or profile or other.profile)
    return side.model_copy(update={"profile": chosen_profile})


def own_profile(word: str, short: str | None, profile: str | None) -> str | None:
    """The profile that a side was given by either name. Raises SandboxError (exit 2) if the two
    differ.
    """
    if short and profile and short != profile:
        what = f"{word}={short} and {word}_PROFILE={profile} contradict each other"
        step = f"try: make smoke PROFILE=mysql@9.7 {word}_PROFILE={profile}"
        raise SandboxError(what, f"{word}= is short for {word}_PROFILE=", step)
    return profile or short


def _note(text: str) -> None:
    print(f"smoke  {text}", file=sys.stderr, flush=True)


def _report(sides: dict[str, Change], results: Sequence[ResultFolder]) -> SmokeReport:
    return SmokeReport(
        looks=[smoke_look(result) for result in results],
        sides={name: asked(side) for name, side in sides.items()},
        command=sys.argv,
        log=log_of_lost(results[-1]),
    )


def smoke_look(result: ResultFolder) -> SmokeLook:
    """The result of one look, judged."""
    manifest = result.manifest
    seconds = None
    if manifest.ended_utc:
        seconds = (manifest.ended_utc - manifest.started_utc).total_seconds()
    look = judged_look(result)
    return SmokeLook(result.path.name, part_of(result), result.records(), look, seconds)


def _show(report: SmokeReport, results: Sequence[ResultFolder], as_json: bool) -> int:
    text = as_typed(smoke_markdown(report))
    for result in results:
        write_atomically(result.path / "smoke.md", text)
    if as_json:
        print(json.dumps(smoke_data(report), indent=2))
    else:
        print(text, end="")
    _note(sentence(report))
    if report.outcome == "environment":
        what = "the smoke benchmark could not be run"
        step = f"try: ls {results[-1].path}"
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
    workload: Annotated[
        str, chosen("Workload, such as oltp_read_write.", completion.workload)
    ] = "oltp_read_only",
    threads: Annotated[int, typer.Option(min=1, help="Client threads (8).")] = 8,
    # Read-only: it measures the server, not the fsyncs of a shared disk. (WORKLOAD= takes any
    # other.)
    rows: Annotated[
        int, typer.Option(min=1, help="Rows per table, of four tables (25000).")
    ] = 25_000,
    seed: Annotated[
        int | None, typer.Option(min=1, help="Seed of order and load (random).")
    ] = None,
    json: Json = False,
) -> int:
    """Check whether a build is slower than its base: a gate for pull requests."""
    load = Change(workload=workload, threads=threads, rows=rows, tables=TABLES)
    of_base = Change(
        profile=own_profile("BASE", base, base_profile),
        image=base_image,
        set=base_set or [],
        cpus=base_cpus,
        memory=base_memory,
    )
    of_head = Change(
        profile=own_profile("HEAD", head, head_profile),
        image=head_image,
        set=head_set or [],
        cpus=head_cpus,
        memory=head_memory,
    )
    return run(profile, of_base, of_head, load, seed, json)

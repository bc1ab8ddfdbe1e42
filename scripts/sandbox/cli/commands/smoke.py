"""smoke: is a head worse than a base? Three servers, a look of eight or sixteen blocks, a comment,
an exit code.
"""

from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.matrices import smoke
from sandbox.cli.common.options import Json, chosen
from sandbox.cli.registry import About
from sandbox.core.errors import SandboxError
from sandbox.matrix.cell import Change
from sandbox.matrix.smoke import TABLES

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


def own_profile(word: str, short: str | None, profile: str | None) -> str | None:
    """The profile that a side was given by either name. Raises SandboxError (exit 2) if the two
    differ.
    """
    if short and profile and short != profile:
        what = f"{word}={short} and {word}_PROFILE={profile} contradict each other"
        step = f"try: make smoke PROFILE=mysql@9.7 {word}_PROFILE={profile}"
        raise SandboxError(what, f"{word}= is short for {word}_PROFILE=", step)
    return profile or short


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
        image=[base_image] if base_image else None,
        set=base_set or [],
        cpus=base_cpus,
        memory=base_memory,
    )
    of_head = Change(
        profile=own_profile("HEAD", head, head_profile),
        image=[head_image] if head_image else None,
        set=head_set or [],
        cpus=head_cpus,
        memory=head_memory,
    )
    return smoke(profile, of_base, of_head, load, seed, json)

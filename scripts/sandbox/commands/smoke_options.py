"""The options of `smoke` on the command line: those of two sides, and of the load."""

from typing import Annotated

import typer

SidesProfile = Annotated[str | None, typer.Option(help="Profile of this side (PROFILE).")]
SidesShort = Annotated[str | None, typer.Option(help="Short for …_PROFILE.")]
SidesImage = Annotated[str | None, typer.Option(help="Local tag, sha256:… or .tar instead of the database image.")]
SidesSet = Annotated[list[str] | None, typer.Option(help="Server variables of this side, as SET takes them.")]
SidesCpus = Annotated[str | None, typer.Option(help="Processors for each database node of this side.")]
SidesMemory = Annotated[str | None, typer.Option(help="Memory for each database node of this side.")]


def smoke(
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
    workload: Annotated[str, typer.Option(help="Workload, such as oltp_read_write.")] = "oltp_read_only",
    threads: Annotated[int, typer.Option(min=1, help="Client threads (8).")] = 8,
    # Read-only: what is measured is the server, not the fsyncs of a disk that it shares. (WORKLOAD= takes any other.)
    rows: Annotated[int, typer.Option(min=1, help="Rows of each of four tables (25000).")] = 25_000,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of order and load (drawn).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether a head is worse than a base: a gate for pull requests, as Markdown and exit code."""
    from sandbox.commands import smoke as gate  # what a command imports is loaded with it

    options = gate.SmokeOptions(
        profile,
        gate.SideOptions(base, base_profile, base_image, tuple(base_set or ()), base_cpus, base_memory),
        gate.SideOptions(head, head_profile, head_image, tuple(head_set or ()), head_cpus, head_memory),
        workload,
        threads,
        rows,
        seed,
        json,
    )
    raise typer.Exit(gate.run(options))

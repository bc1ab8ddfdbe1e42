"""Names that a plan, its Compose file and a running stack share; imports nothing, since every
command reads them.
"""

from dataclasses import dataclass

PROJECT = "${COMPOSE_PROJECT_NAME}"
"""Interpolated by Compose, so that `docker compose -p other` labels its own objects."""
DISK = "x-disk"
"""Key of a volume: the disk that `up` makes for it; Compose takes the volume as it finds it."""
DATA_DIRECTORY = "/var/lib/mysql"
"""The data directory of every server, in its container."""
CPU_SHARES = 1024
"""The CPU weight of every service, given because the default is not the same everywhere."""
ROTATION_SQL = "/sandbox/renew.sql"
"""The SQL that a server restored from a snapshot runs at its start."""
LINKS = "/sandbox/links"
"""The script beside a server to which links lead (`REPLICATE=`): keeps them up."""
PACKAGE_LABEL = "sandbox.package-version"
"""Label of an image built here: the version of its package, as the distribution writes it."""
MEMBERS = "members"
"""`VIA=` of every member of a cluster at once."""

PAIR_LISTS = {"wsrep_provider_options": ";", "optimizer_switch": ","}
"""Variables whose value is a list of ``key=value`` → what stands between two of them."""


def canonical(name: str) -> str:
    """One spelling per variable: servers treat ``-`` and ``_`` as the same, and ignore case."""
    return name.lower().replace("-", "_")


def bare(name: str) -> str:
    """The variable that an option sets: ``loose_`` says only that a server may not know it."""
    return canonical(name).removeprefix("loose_")


def pairs_of(variable: str, value: str) -> dict[str, str]:
    """Key → value of a variable in `PAIR_LISTS`, in order; a piece without ``=`` has no value."""
    pieces = (piece.partition("=") for piece in value.split(PAIR_LISTS[bare(variable)]))
    return {key.strip(): setting.strip() for key, _, setting in pieces if key.strip()}


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a stack: the Compose project and the checkout it belongs to."""

    project: str
    checkout: str

"""Names that a plan, its Compose file and a running stack share; imports nothing, since every
command reads them.
"""

from dataclasses import dataclass

PROJECT = "${COMPOSE_PROJECT_NAME}"
"""Interpolated by Compose, so that `docker compose -p other` labels its own objects."""
DISK = "x-disk"
"""Of a volume: the disk of its own that `up` makes for it; Compose takes the volume as it finds
it.
"""
DATA_DIRECTORY = "/var/lib/mysql"
"""Of every server, in its container."""
CPU_SHARES = 1024
"""Of every service: what is updated later has a weight of its own, which is not always that of one
without shares.
"""
ROTATION_SQL = "/sandbox/renew.sql"
"""What a server whose data comes from a snapshot runs at its start."""
PACKAGE_LABEL = "sandbox.package-version"
"""Of an image built here: the version of its package, as the distribution writes it."""
MEMBERS = "members"
"""`VIA=` of every member of a cluster at once."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a stack: the Compose project and the checkout it belongs to."""

    project: str
    checkout: str

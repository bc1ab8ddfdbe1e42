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
PACKAGE_LABEL = "sandbox.package-version"
"""Label of an image built here: the version of its package, as the distribution writes it."""
MEMBERS = "members"
"""`VIA=` of every member of a cluster at once."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a stack: the Compose project and the checkout it belongs to."""

    project: str
    checkout: str

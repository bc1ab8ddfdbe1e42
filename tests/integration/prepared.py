"""What stacks under test start from: their servers' first start, made once on this engine and
copied after that.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from sandbox.profile.data_directory import base_requests
from sandbox.profile.plan import PlanRequest
from sandbox.profile.reader import load_library
from sandbox.stack.engine import Docker
from sandbox.stack.locks import locked
from sandbox.stack.naming import identity
from sandbox.stack.planning import planned
from sandbox.stack.snapshots.background import measuring
from sandbox.stack.snapshots.take import ensure_base_directory


@cache
def make_data_directories(profile: str, settings: str = "") -> None:
    """Makes the initialised data directories of a profile's servers that this engine does not have
    yet. ``settings``: as ``SET=`` has them.

    Whoever comes second waits until they are there: a server's first start takes longer than the
    wait.
    """
    docker, library = Docker(), load_library()
    asked = PlanRequest(profile, assignments=(settings,) if settings else ())
    requests = base_requests(planned(asked, library, docker), library)
    owner = identity(f"t-data-{os.getpid()}")
    for request in dict.fromkeys(requests.values()):
        plan = planned(request, library, docker)
        with locked(f"t-data-{plan.profile}", lambda: None):
            ensure_base_directory(docker, plan, owner)


@contextmanager
def no_snapshot_taken() -> Iterator[None]:
    """Holds what a measurement holds: `up` restores inside the block, and keeps no snapshot in the
    background.
    """
    with measuring(lambda _: None):
        yield

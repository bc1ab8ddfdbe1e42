"""The stack of a module's PROFILE, shared by all modules of that profile."""

from collections.abc import Iterator

import pytest

from integration.live import LiveStack
from integration.shared import SharedStacks, profile_of


@pytest.fixture(scope="session")
def shared_stacks(request: pytest.FixtureRequest) -> Iterator[SharedStacks]:
    """Those that run in this process; all are gone in the end."""
    wanted = {
        (profile, item.path)
        for item in request.session.items
        if "shared_stacks" in getattr(item, "fixturenames", ()) and (profile := profile_of(item))
    }
    profiles = [profile for profile, _ in wanted]
    shared = SharedStacks({profile: profiles.count(profile) for profile in profiles})
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest, shared_stacks: SharedStacks) -> Iterator[LiveStack]:
    """The module's stack, as new when its first test begins."""
    profile = str(request.module.PROFILE)
    yield shared_stacks.as_new(profile)
    shared_stacks.release(profile)

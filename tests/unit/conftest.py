"""Unit tests need no Docker and wait for no disk: the engine has no image for them and reaches no
registry.
"""

import os

import pytest

from sandbox.profile.images import Availability
from sandbox.stack import images


@pytest.fixture(autouse=True)
def _engine_without_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `commands.planning` asks; a test of the question itself has it by name."""
    monkeypatch.setattr(images, "engine_availability", lambda lock, *_: Availability(lock=lock))


@pytest.fixture(autouse=True)
def _no_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes need not outlive the machine."""
    monkeypatch.setattr(os, "fsync", lambda _: None)

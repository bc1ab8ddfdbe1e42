"""PURE: versions as packages, tags and servers write them: their order, which mean the same."""

import re
from dataclasses import dataclass
from functools import cache

_EPOCH = re.compile(r"^\d+:")
_NOT_IN_A_TAG = re.compile(r"[^A-Za-z0-9_.-]")
_VERSION = re.compile(r"v?(?P<release>\d+(?:\.\d+)*)(?:-(?P<revision>\d+))?")


def package_tag(package: str) -> str:
    """A package version in a tag, as scripts/build-image writes it: ``1:11.8.9+ds-4`` →
    ``11.8.9-ds-4``.
    """
    return _NOT_IN_A_TAG.sub("-", _EPOCH.sub("", package))


def packaged_version(package: str) -> str:
    """The version that the program in a package has: ``1:10.11.18-0+deb12u1`` → ``10.11.18``."""
    return _read(_EPOCH.sub("", package)).release


def answers_to(asked: str, reported: str) -> bool:
    """Whether a server that reports this version is the one asked for by an exact version or tag.

    The release decides, and the revision where both give one. Percona's tag ``8.0.36-28.1`` is
    ``8.0.36-28`` for the server; Oracle's ``8.0.32-1.2.11-server`` is ``8.0.32``, and ``10.11.18``
    is ``10.11.18-MariaDB-0+deb12u1``.
    """
    wanted = _read(asked)
    found = _read(reported)
    if wanted.release != found.release:
        return False
    return None in (wanted.revision, found.revision) or wanted.revision == found.revision


def short_version(reported: str) -> str:
    """The version in a table: ``10.11.18`` of ``10.11.18-MariaDB-0+deb12u1-log``."""
    found = _read(reported)
    return f"{found.release}-{found.revision}" if found.revision else found.release


@dataclass(frozen=True, slots=True)
class _Version:
    release: str
    revision: str | None


def _read(text: str) -> _Version:
    """A text that begins with no number is its own release."""
    match = _VERSION.match(text)
    if match is None:
        return _Version(text, None)
    return _Version(match["release"], match["revision"])


@cache
def version_key(version: str) -> tuple[int, ...]:
    """Numbers of a version, for ordering: ``8.0.36-28`` → (8, 0, 36, 28)."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


@cache
def at_least(version: str, since: str) -> bool:
    """Whether ``version`` is ``since`` or newer, compared over as many numbers as both give.

    ``8.4`` is at least ``8.4.3``: a series without a patch number means its newest release.
    """
    have = version_key(version)
    want = version_key(since)
    length = min(len(have), len(want))
    return have[:length] >= want[:length]


def belongs_to(version: str, series: str) -> bool:
    """Whether an exact version is in a series: ``8.0.36-28`` belongs to ``8.0``, ``v2.53.4`` to
    ``2.53``.
    """
    version = version.removeprefix("v")
    return version == series or version.startswith((f"{series}.", f"{series}-"))

"""The grammar of a profile: text → terms."""

import re
from dataclasses import dataclass

from sandbox.errors import SandboxError

EXAMPLE = "galera3+haproxy"
NEXT_STEP = "try: make profiles   (lists every term)"
_TERM = re.compile(
    r"(?P<name>[a-z](?:[a-z0-9-]*[a-z])?)(?P<count>[0-9]+)?(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9._-]*))?"
)
_MAX_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Term:
    """One piece of a profile: ``name [count] [@version]``, and its text as typed."""

    name: str
    count: int | None
    version: str | None
    text: str


def parse(profile: str) -> list[Term]:
    """Terms of a profile, left to right.

    Raises SandboxError (exit 2) naming the first piece that is not a term.
    """
    if not profile.strip():
        raise SandboxError("the profile is empty", f"a profile is terms joined by '+', such as {EXAMPLE}", NEXT_STEP)
    if len(profile) > _MAX_LENGTH:
        raise SandboxError(
            f"the profile is {len(profile)} characters long", f"the limit is {_MAX_LENGTH} characters", NEXT_STEP
        )
    return [_parse_term(piece.strip(), profile) for piece in profile.split("+")]


def _no_term(piece: str, profile: str) -> SandboxError:
    """If only case or a colon is wrong, as in an image's name, the error suggests the intended term."""
    meant = profile.lower().replace(":", "@")
    if _TERM.fullmatch(piece.lower().replace(":", "@")):
        known, step = f"did you mean '{piece.lower().replace(':', '@')}'?", f"try: make plan PROFILE={meant}"
    else:
        known = f"a term is name[count][@version], such as pxc3@8.4; terms are joined by '+', such as {EXAMPLE}"
        step = NEXT_STEP
    return SandboxError(f"{piece!r} in {profile!r} is not a term", known, step)


def _parse_term(piece: str, profile: str) -> Term:
    match = _TERM.fullmatch(piece)
    if match is None:
        raise _no_term(piece, profile)
    count = match["count"]
    if count is not None and not (len(count) == 1 and count != "0"):
        raise SandboxError(
            f"the count of {piece!r} is {count}", "a count is 1 to 9", f"try: make plan PROFILE={match['name']}3"
        )
    return Term(match["name"], int(count) if count else None, match["version"], piece)

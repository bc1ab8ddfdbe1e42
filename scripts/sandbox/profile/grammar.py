"""The grammar of what a user types: a profile, `SET=`, an address."""

import re
import shlex
from dataclasses import dataclass
from urllib.parse import urlsplit

from sandbox.core.errors import SandboxError
from sandbox.profile.refusal import NEXT_STEP, Change, ProfileError, instead, only

EXAMPLE = "galera3+haproxy"
ADDRESS_EXAMPLE = "mysql://user@host:3306/db"
DEFAULT_PORT = 3306
DEFAULT_SCHEMA = "sbtest"
DEFAULT_USER = "root"
_TERM = re.compile(
    r"(?:(?P<place>[a-z][a-z0-9-]*):)?(?P<name>[a-z](?:[a-z0-9-]*[a-z])?)(?P<count>[0-9]+)?"
    r"(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9._-]*))?"
)
_MAX_LENGTH = 500
_ASSIGNMENT = re.compile(
    r"(?:(?P<term>[a-z][a-z0-9-]*):)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)=(?P<value>[^\r\n\0]*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Term:
    """One piece of a profile: ``[place:] name [count] [@version]``, and its text as typed."""

    name: str
    count: int | None
    version: str | None
    text: str
    place: str | None = None
    """Of a setting: the one node, or the term, that has it."""

    def in_version(self, version: str | None) -> str:
        """Its text with another version, or with none."""
        return f"{self.name}{self.count or ''}" + (f"@{version}" if version else "")


def parse(profile: str) -> list[Term]:
    """Terms of a profile, left to right.

    Raises SandboxError (exit 2) naming the first piece that is not a term.
    """
    if not profile.strip():
        raise SandboxError(
            "the profile is empty",
            f"a profile is terms joined by '+', such as {EXAMPLE}",
            NEXT_STEP,
        )
    if len(profile) > _MAX_LENGTH:
        raise SandboxError(
            f"the profile is {len(profile)} characters long",
            f"the limit is {_MAX_LENGTH} characters",
            NEXT_STEP,
        )
    return [_parse_term(piece.strip(), profile) for piece in profile.split("+")]


def _no_term(piece: str, profile: str) -> ProfileError:
    """If only case or a colon is wrong, as in an image's name, the error suggests the intended
    term.
    """
    meant = piece.lower().replace(":", "@")
    known = (
        "a term is name[count][@version], such as pxc3@8.4; terms are joined by '+', such as"
        f" {EXAMPLE}"
    )
    changes: list[Change] = []
    if _TERM.fullmatch(meant):
        known = f"did you mean '{meant}'?"
        changes.append(only(*profile.lower().replace(":", "@").split("+")))
    return ProfileError(f"{piece!r} in {profile!r} is not a term", known, *changes)


def _parse_term(piece: str, profile: str) -> Term:
    match = _TERM.fullmatch(piece)
    if match is None:
        raise _no_term(piece, profile)
    count = match["count"]
    place = match["place"]
    if count is not None and not (len(count) == 1 and count != "0"):
        version = f"@{match['version']}" if match["version"] else ""
        counts = ("3", "")
        changes = [instead(piece, f"{match['name']}{count}{version}") for count in counts]
        raise ProfileError(
            f"the count of {piece!r} is {match['count']}", "a count is 1 to 9", *changes
        )
    return Term(match["name"], int(count) if count else None, match["version"], piece, place)


def split_assignments(texts: tuple[str, ...]) -> list[tuple[str | None, str, str]]:
    """``a=1 b='x y'`` → (term or None, name, value) triples, split as a shell would.

    Raises SandboxError (exit 2) for a piece that is not an assignment.
    """
    triples = []
    for text in texts:
        try:
            pieces = shlex.split(text)
        except ValueError as problem:
            raise _bad_assignment(text, str(problem)) from problem
        for piece in pieces:
            match = _ASSIGNMENT.fullmatch(piece)
            if match is None:
                raise _bad_assignment(piece, "no name=value")
            triples.append((match["term"], match["name"], match["value"]))
    return triples


def _bad_assignment(piece: str, reason: str) -> SandboxError:
    known = "name=value or term:name=value, separated by spaces, quoted as in a shell"
    step = 'try: SET="max_connections=900 replica:read_buffer_size=65536"'
    return SandboxError(f"SET: {piece!r} is not an assignment ({reason})", known, step)


@dataclass(frozen=True, slots=True)
class ExternalAddress:
    """Host, port and user of the server, and the one schema that is written to."""

    host: str
    port: int
    user: str
    schema: str

    def __str__(self) -> str:
        return f"{self.user}@{self.host}:{self.port}, schema {self.schema}"


def external_address(url: str) -> ExternalAddress:
    """``mysql://user@host:3306/db``; defaults: user root, port 3306 and schema sbtest.

    Raises SandboxError (exit 2) for an invalid address, and for one with a password in it.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError as problem:
        raise _refused(url, f"the port must be a number, as in {ADDRESS_EXAMPLE}") from problem
    if parts.scheme not in ("mysql", "mariadb") or not parts.hostname:
        raise _refused(url, f"an address looks like {ADDRESS_EXAMPLE}")
    if parts.password is not None:
        known = (
            "an address must not contain a password: EXTERNAL_PASSWORD_FILE names a file that"
            " holds it"
        )
        raise _refused(url, known)
    user = parts.username or DEFAULT_USER
    schema = parts.path.strip("/") or DEFAULT_SCHEMA
    return ExternalAddress(parts.hostname, port, user, schema)


def _refused(url: str, known: str) -> SandboxError:
    # Whatever is wrong with it, a password is not printed.
    public = re.sub(r"(^|//)([^/:@]*):.*@", r"\1\2@", url)
    what = f"EXTERNAL={public} is not a valid address"
    return SandboxError(what, known, f"try: make plan PROFILE=external EXTERNAL={ADDRESS_EXAMPLE}")

"""The address of an external server, as `EXTERNAL=` gives it."""

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from sandbox.errors import SandboxError

EXAMPLE = "mysql://user@host:3306/db"
DEFAULT_PORT, DEFAULT_SCHEMA, DEFAULT_USER = 3306, "sbtest", "root"


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
        raise _refused(url, f"the port must be a number, as in {EXAMPLE}") from problem
    if parts.scheme not in ("mysql", "mariadb") or not parts.hostname:
        raise _refused(url, f"an address looks like {EXAMPLE}")
    if parts.password is not None:
        known = "an address must not contain a password: EXTERNAL_PASSWORD_FILE names a file that holds it"
        raise _refused(_without_password(parts), known)
    user, schema = parts.username or DEFAULT_USER, parts.path.strip("/") or DEFAULT_SCHEMA
    return ExternalAddress(parts.hostname, port, user, schema)


def _without_password(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.username}@{parts.netloc.rpartition('@')[2]}{parts.path}"


def _refused(url: str, known: str) -> SandboxError:
    return SandboxError(
        f"EXTERNAL={url} is not a valid address", known, f"try: make plan PROFILE=external EXTERNAL={EXAMPLE}"
    )

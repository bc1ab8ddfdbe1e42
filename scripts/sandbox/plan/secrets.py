"""The passwords and certificates of a stack, as the templates see them."""

import hashlib
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """Letters and digits only, so that no configuration format needs quoting; certificates are PEM."""

    root: str
    replication: str
    monitor: str
    app: str
    admin: str
    cluster: str
    uuid: str
    ca_certificate: str
    server_certificate: str
    server_key: str
    own_certificate: str
    """Self-signed; empty where every server makes its own."""
    own_key: str

    @property
    def mark(self) -> str:
        """Distinguishes this stack's data directories from copies in other stacks; not a secret."""
        return hashlib.sha256(f"mark {self.root}".encode()).hexdigest()[:16]

    def passwords(self) -> list[str]:
        """The values that must never appear in a record or log."""
        return [getattr(self, name) for name in PASSWORD_NAMES]


PASSWORD_NAMES = ("root", "replication", "monitor", "app", "admin", "cluster")

PLACEHOLDER = Secrets(
    **{item.name: f"placeholder-{item.name.replace('_', '-')}" for item in fields(Secrets) if item.name != "uuid"},
    uuid="00000000-0000-4000-8000-000000000000",
)

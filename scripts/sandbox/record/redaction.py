"""Keeps passwords out of saved files: masks them where they are expected, refuses to save where
they are not.
"""

import re
from collections.abc import Collection, Mapping

MASK = "********"
_SECRET_NAME = re.compile(r"(password|passwd|sst_auth|secret|token)$", re.IGNORECASE)
_SWITCHES = frozenset({"", "ON", "OFF", "0", "1"})
"""Values of variables whose name only sounds secret, such as ``disconnect_on_expired_password``."""


class SecretFoundError(Exception):
    """Text about to be saved contains a password. Says where, never what."""


def mask(text: str, secrets: Collection[str]) -> str:
    """``text`` with every known password replaced."""
    for secret in filter(None, secrets):  # every text contains the empty one
        text = text.replace(secret, MASK)
    return text


def mask_bytes(data: bytes, secrets: Collection[str]) -> bytes:
    """Binary data with every known password overwritten, its length unchanged."""
    for secret in filter(None, map(str.encode, secrets)):
        data = data.replace(secret, b"*" * len(secret))
    return data


def mask_variables(variables: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    """Server variables, with each value masked that is a password by its name or by its content."""

    def shown(name: str, value: str) -> str:
        return (
            MASK if _SECRET_NAME.search(name) and value not in _SWITCHES else mask(value, secrets)
        )

    return {name: shown(name, value) for name, value in variables.items()}


def refuse_secrets(text: str, secrets: Collection[str], where: str) -> None:
    """Raises SecretFoundError if ``text`` contains a known password; ``where`` names the file for
    the message.
    """
    for secret in filter(None, secrets):
        if secret in text:
            line = text[: text.index(secret)].count("\n") + 1
            raise SecretFoundError(f"{where} is not saved: line {line} contains a password")

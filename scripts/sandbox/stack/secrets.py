"""The passwords, certificates and keys of a stack: generated; an external server's password from a
file or a prompt.
"""

import datetime
import os
import secrets
import string
import sys
import uuid
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.core.errors import SandboxError
from sandbox.profile.plan import Plan
from sandbox.profile.templates import PASSWORD_NAMES, Secrets

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    Key = RSAPrivateKey | EllipticCurvePrivateKey

_ALPHABET = string.ascii_letters + string.digits
_LENGTH = 24
_VALID_DAYS = 3650
_EXTERNAL_VARIABLE = "EXTERNAL_PASSWORD_FILE"
"""Names a file: passwords come neither from an address nor from an option."""


def draw_secrets(plan: Plan) -> Secrets:
    """Fresh random passwords; certificates and keys only where a component of the plan needs them
    (they take 0.1 s).

    With an external server, the application's password is that server's. Raises SandboxError (exit
    2) where it is not given.
    """
    passwords = {
        name: "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH)) for name in PASSWORD_NAMES
    }
    for external in (group.external for group in plan.groups if group.external):
        passwords["app"] = external_password(external)
    hosts = [node.name for node in plan.nodes]

    def needed(signed_by: str) -> bool:
        return any(node.has_certificate(signed_by) for node in plan.nodes)

    authority, certificate, key = _chain(hosts) if needed("authority") else ("", "", "")
    own_certificate, own_key = _self_signed(hosts) if needed("itself") else ("", "")
    ssh_key, ssh_public_key = (
        _ssh_keys() if any(node.component.spec.ssh_key for node in plan.nodes) else ("", "")
    )
    return Secrets(
        **passwords,
        uuid=str(uuid.uuid4()),
        ca_certificate=authority,
        server_certificate=certificate,
        server_key=key,
        own_certificate=own_certificate,
        own_key=own_key,
        ssh_key=ssh_key,
        ssh_public_key=ssh_public_key,
    )


def external_password(address: str) -> str:
    """The first line of the file that EXTERNAL_PASSWORD_FILE names, else what is typed at the
    prompt.

    Raises SandboxError (exit 2) where neither gives one.
    """
    path = os.environ.get(_EXTERNAL_VARIABLE)
    if path:
        return _first_line(Path(path))
    if sys.stdin.isatty():
        typed = getpass(f"password for {address}: ")
        if typed:
            return typed
    raise SandboxError(
        f"no password was given for {address}",
        f"it comes from the file in the environment variable {_EXTERNAL_VARIABLE}, or from a prompt"
        " in a terminal",
        f"try: {_EXTERNAL_VARIABLE}=<file> make up PROFILE=external EXTERNAL={address}",
    )


def _first_line(path: Path) -> str:
    try:
        password = path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as problem:
        raise SandboxError(
            f"{_EXTERNAL_VARIABLE}={path} cannot be read", str(problem), f"try: ls -l {path}"
        ) from problem
    if password:
        return password
    raise SandboxError(
        f"{_EXTERNAL_VARIABLE}={path} is empty",
        "its first line must be the password",
        f"try: ls -l {path}",
    )


def _chain(hosts: list[str]) -> tuple[str, str, str]:
    """(CA certificate, server certificate, server key) as PEM; CA and server have distinct common
    names.

    The server rejects a chain whose CA and server share one (MySQL manual, Creating SSL
    Certificates).
    """
    from cryptography.hazmat.primitives.asymmetric import rsa

    authority_key, server_key = (
        rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2)
    )
    authority = _certificate("sandbox CA", authority_key, [], "sandbox CA", authority_key)
    server = _certificate("sandbox server", server_key, hosts, "sandbox CA", authority_key)
    return authority, server, _pem(server_key)


def _self_signed(hosts: list[str]) -> tuple[str, str]:
    """(certificate, key) as PEM, on the curve P-256: generated in a millisecond."""
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    return _certificate("sandbox server", key, hosts, "sandbox server", key), _pem(key)


def _ssh_keys() -> tuple[str, str]:
    """(private key, public key) in OpenSSH's formats."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return private.decode(), public.decode()


def _certificate(subject: str, key: "Key", hosts: list[str], issuer: str, issuer_key: "Key") -> str:
    """A certificate, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    now = datetime.datetime.now(datetime.UTC)
    blank = x509.CertificateBuilder(
        issuer_name=x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]),
        subject_name=x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]),
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - datetime.timedelta(days=1),
        not_valid_after=now + datetime.timedelta(days=_VALID_DAYS),
    )
    if hosts:
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        blank = blank.add_extension(names, critical=False)
    if subject == issuer:
        blank = blank.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return blank.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def _pem(key: "Key") -> str:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()

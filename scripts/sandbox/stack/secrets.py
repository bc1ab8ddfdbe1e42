"""Draws the passwords and certificates of a stack."""

import datetime
import secrets
import string
import uuid

from sandbox.plan.model import Plan
from sandbox.plan.secrets import PASSWORD_NAMES, Secrets
from sandbox.stack.external import external_password

_ALPHABET = string.ascii_letters + string.digits
_LENGTH = 24
_VALID_DAYS = 3650


def draw_secrets(plan: Plan) -> Secrets:
    """Fresh random passwords; certificates only where a component of the plan needs them (they take 0.1 s).

    Beside a server that somebody else runs the application's password is that server's. Raises SandboxError (exit 2)
    where it is not given.
    """
    passwords = {name: _password() for name in PASSWORD_NAMES}
    for external in (group.external for group in plan.groups if group.external):
        passwords["app"] = external_password(external)
    needs = any("certificates" in node.component.spec.needs for node in plan.nodes)
    authority, certificate, key = _certificates([node.name for node in plan.nodes]) if needs else ("", "", "")
    return Secrets(
        **passwords,
        uuid=str(uuid.uuid4()),
        ca_certificate=authority,
        server_certificate=certificate,
        server_key=key,
    )


def _password() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def _certificates(hosts: list[str]) -> tuple[str, str, str]:
    """(CA certificate, server certificate, server key) as PEM; CA and server have distinct common names.

    The server rejects a chain whose CA and server share one (MySQL manual, Creating SSL Certificates).
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import NameOID

    def named(common_name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])

    def builder(subject: str, key: rsa.RSAPrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        begin, end = now - datetime.timedelta(days=1), now + datetime.timedelta(days=_VALID_DAYS)
        blank = x509.CertificateBuilder(issuer_name=named("sandbox CA"), subject_name=named(subject))
        return (
            blank.public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )

    def pem(certificate: x509.Certificate) -> str:
        return certificate.public_bytes(serialization.Encoding.PEM).decode()

    authority_key, server_key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    authority = (
        builder("sandbox CA", authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        builder("sandbox server", server_key)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()
    return pem(authority), pem(server), private

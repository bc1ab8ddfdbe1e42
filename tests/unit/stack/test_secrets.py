"""Passwords and certificates of a stack."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.library import Certificate, Component
from sandbox.profile.templates import Secrets
from sandbox.stack.secrets import draw_secrets
from unit.stack.small_stack import SMALL, local_plan


def test_passwords_are_long_fresh_and_need_no_quoting() -> None:
    first, second = draw_secrets(local_plan("mysql")), draw_secrets(local_plan("mysql"))
    passwords = [*first.passwords(), *second.passwords()]
    assert len(set(passwords)) == len(passwords) == 12
    assert all(
        len(password) == 24 and password.isalnum() and password.isascii() for password in passwords
    )
    assert first.uuid != second.uuid


def test_nothing_prints_them() -> None:
    secrets = draw_secrets(local_plan("mysql"))
    assert not [password for password in secrets.passwords() if password in f"{secrets!r}{secrets}"]


def test_no_certificate_where_nobody_needs_one() -> None:
    assert draw_secrets(local_plan("mysql")).server_key == ""


def test_a_key_to_log_in_with_is_drawn_where_somebody_does() -> None:
    without = draw_secrets(local_plan("mysql+replica"))
    assert (without.ssh_key, without.ssh_public_key) == ("", "")
    first, second = (draw_secrets(local_plan("mysql+replica+manager")) for _ in range(2))
    key = serialization.load_ssh_private_key(first.ssh_key.encode(), password=None)
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    assert first.ssh_public_key == public.decode() and first.ssh_public_key.startswith(
        "ssh-ed25519 "
    )
    assert first.ssh_key.endswith("\n") and first.ssh_key != second.ssh_key


def drawn(monkeypatch: pytest.MonkeyPatch, signed_by: str, since: str | None = None) -> Secrets:
    """Of a cluster of three whose nodes need such a certificate."""

    certificate = Certificate.model_validate({"signed_by": signed_by, "since": since})

    def needing(name: str, group_component: str | None = None) -> Component:
        component: Component = get(name, group_component)
        return component.model_copy(
            update={"spec": component.spec.model_copy(update={"certificate": certificate})}
        )

    get: Any = SMALL.components.get
    monkeypatch.setattr(SMALL.components, "get", needing)
    return draw_secrets(local_plan("cluster3"))


def hosts(certificate: x509.Certificate) -> set[str]:
    """The names that a certificate stands for."""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(names.get_values_for_type(x509.DNSName))


def load(tmp_path: Path, certificate: str, key: str) -> None:
    """As a server does it."""
    (tmp_path / "both.pem").write_text(certificate + key)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "both.pem")


def test_certificates_have_distinct_names_and_every_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secrets = drawn(monkeypatch, "authority")
    authority = x509.load_pem_x509_certificate(secrets.ca_certificate.encode())
    server = x509.load_pem_x509_certificate(secrets.server_certificate.encode())
    assert authority.subject != server.subject
    server.verify_directly_issued_by(authority)
    assert {"cluster1", "cluster2", "cluster3"} <= hosts(server)
    load(tmp_path, secrets.server_certificate, secrets.server_key)
    assert not secrets.own_key


def test_a_certificate_of_its_own_is_signed_by_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secrets = drawn(monkeypatch, "itself", "1.0")
    own = x509.load_pem_x509_certificate(secrets.own_certificate.encode())
    own.verify_directly_issued_by(own)
    assert {"cluster1", "cluster2", "cluster3"} <= hosts(own)
    load(tmp_path, secrets.own_certificate, secrets.own_key)
    assert not secrets.server_key


def test_a_version_that_is_too_old_for_a_certificate_gets_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not drawn(monkeypatch, "itself", "99.0").own_key


EXTERNAL = "mysql://app@db.example/shop"


def test_an_external_servers_password_comes_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "password").write_text("its own\n")
    monkeypatch.setenv("EXTERNAL_PASSWORD_FILE", str(tmp_path / "password"))
    secrets = draw_secrets(local_plan("external", external=EXTERNAL))
    assert secrets.app == "its own"
    assert secrets.root != secrets.app


@pytest.mark.parametrize("file", [None, "missing", "empty"])
def test_without_a_password_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str | None
) -> None:
    (tmp_path / "empty").touch()
    monkeypatch.delenv("EXTERNAL_PASSWORD_FILE", raising=False)
    if file:
        monkeypatch.setenv("EXTERNAL_PASSWORD_FILE", str(tmp_path / file))
    with pytest.raises(SandboxError) as refused:
        draw_secrets(local_plan("external", external=EXTERNAL))
    assert refused.value.exit_code == ExitCode.BAD_INPUT

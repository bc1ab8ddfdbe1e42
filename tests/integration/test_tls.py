"""Servers speak TLS with the certificate that their stack gave them, and without TLS where that is
asked for.
"""

import pytest

from integration.live import live_stack

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]

CERTIFICATE = "/sandbox/own-cert.pem"


@pytest.mark.parametrize(
    "profile", ["mysql@9.7", pytest.param("mariadb@11.8", marks=pytest.mark.long)]
)
def test_a_connection_is_encrypted_with_the_certificate_of_the_stack(profile: str) -> None:
    with live_stack(profile) as stack:
        node = stack.names("database")[0]
        assert stack.sql(node, "select @@ssl_cert") == CERTIFICATE
        assert "TLS_" in stack.sql(node, "show session status like 'Ssl_cipher'")


@pytest.mark.long
def test_a_version_that_makes_no_key_of_its_own_is_given_none() -> None:
    with live_stack("mariadb@10.11") as stack:
        assert CERTIFICATE not in stack.sql("mariadb1", "show variables like 'ssl_cert'")


@pytest.mark.long
def test_a_server_without_tls_is_up_all_the_same() -> None:
    with live_stack("mariadb@11.8+replica1", "--set", "ssl=OFF") as stack:
        assert stack.sql("mariadb1", "select @@have_ssl") == "DISABLED"
        assert stack.writers() == ["mariadb1"]

"""The address of somebody else's server: taken whole, or refused with what an address is."""

import pytest

from sandbox.errors import SandboxError
from sandbox.plan.external import ExternalAddress, external_address


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mysql://app@db.example.net:3307/shop", ExternalAddress("db.example.net", 3307, "app", "shop")),
        ("mysql://db", ExternalAddress("db", 3306, "root", "sbtest")),
        ("mariadb://app@[::1]:3306", ExternalAddress("::1", 3306, "app", "sbtest")),
    ],
)
def test_what_is_not_named_has_a_default(url: str, address: ExternalAddress) -> None:
    assert external_address(url) == address


@pytest.mark.parametrize(
    "url", ["foo", "host:3306", "mysql://", "http://host", "mysql://u@h:abc/db", "mysql://u@h:99999/db"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SandboxError, match="is not a valid address") as refused:
        external_address(url)
    assert "mysql://user@host:3306/db" in refused.value.known + refused.value.next_step


def test_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(SandboxError) as refused:
        external_address("mysql://app:S3cret@db:3306/shop")
    assert "S3cret" not in " ".join(refused.value.lines()) and "EXTERNAL_PASSWORD_FILE" in refused.value.known

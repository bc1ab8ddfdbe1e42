"""Passwords stay out of what is saved."""

import pytest

from sandbox.record.redaction import (
    MASK,
    SecretFoundError,
    mask,
    mask_bytes,
    mask_variables,
    refuse_secrets,
)

SECRETS = frozenset({"Zx9Password000000000000a"})


def test_text_is_masked() -> None:
    assert mask("password=Zx9Password000000000000a;", SECRETS) == f"password={MASK};"


def test_binary_data_keeps_its_length() -> None:
    data = b"\0\xffZx9Password000000000000a\0"
    assert mask_bytes(data, SECRETS) == b"\0\xff" + b"*" * 24 + b"\0"
    assert mask_bytes(data, {""}) == data


def test_an_empty_secret_masks_and_refuses_nothing() -> None:
    assert mask("as it is", {""}) == "as it is"
    assert mask_variables({"version": "9.7.0"}, {""}) == {"version": "9.7.0"}
    refuse_secrets("as it is", {""}, "record.json")


def test_variables_are_masked_by_name_and_by_value() -> None:
    variables = {
        "wsrep_sst_auth": "sst:other",
        "report_password": "x",
        "init_connect": "set @a='Zx9Password000000000000a'",
        "disconnect_on_expired_password": "ON",
        "validate_password.length": "8",
        "report_password_unset": "",
    }
    assert mask_variables(variables, SECRETS) == {
        "wsrep_sst_auth": MASK,
        "report_password": MASK,
        "init_connect": f"set @a='{MASK}'",
        "disconnect_on_expired_password": "ON",
        "validate_password.length": "8",
        "report_password_unset": "",
    }


def test_a_password_is_refused_and_not_reported() -> None:
    with pytest.raises(SecretFoundError) as caught:
        refuse_secrets('{\n"reason": "Zx9Password000000000000a"}', SECRETS, "record.json")
    assert "record.json is not saved: line 2" in str(caught.value)
    assert "Zx9Password" not in str(caught.value)


def test_text_without_a_password_passes() -> None:
    refuse_secrets("nothing of the kind", SECRETS, "record.json")

"""Every setting that runs here, proved by its own query on the live servers."""

import pytest

from integration.live import live_stack

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]

PROFILES = [
    "mysql@9.7+threadpool+rewriter+doublewrite-off+file-per-table-off+perf-schema-off+relaxed",
    "mysql@9.7+binlog-off+durable+doublewrite-detect-only+doublewrite-files",
    pytest.param(
        "mariadb@10.5+threadpool+doublewrite-off+file-per-table-off+relaxed", marks=pytest.mark.long
    ),
    "mariadb@11.8+threadpool+doublewrite-off+file-per-table-off+perf-schema-off+durable",
    "mariadb@11.8+binlog-off+adjustable-clock",
    "galera3@11.8+server-timeouts+threadpool+flow-control-off",
    "gr3@9.7+server-timeouts+rewriter+flow-control-off+adjustable-clock",
]


@pytest.mark.parametrize("profile", PROFILES)
def test_settings_are_in_effect(profile: str) -> None:
    with live_stack(profile) as stack:
        proofs = [proof for node in stack.data() for proof in node["proofs"]]  # type: ignore[attr-defined]
        assert {proof["setting"] for proof in proofs} == set(profile.split("+")[1:])
        assert [proof for proof in proofs if not proof["in_effect"]] == []


def test_set_reaches_the_server_it_names() -> None:
    with live_stack(
        "mariadb@11.8+replica1", "--set", "max_connections=77 replica:max_connections=78"
    ) as stack:
        assert stack.sql("mariadb1", "select @@max_connections") == "77"
        assert stack.sql("replica1", "select @@max_connections") == "78"

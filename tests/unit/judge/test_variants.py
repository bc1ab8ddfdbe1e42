"""Variants may differ in what was asked for, and in what makes a node that node; what nobody set is
found and shown.
"""

from typing import Any

import pytest

from sandbox.judge.compare import Judged
from sandbox.judge.variants import (
    VariantDifference,
    compared_variants,
    differences,
    identifies_a_node,
    not_in_effect,
    refusal,
    same,
    unasked,
)
from sandbox.record.manifest import CellPart, ComparisonPart, MatrixPart
from sandbox.record.record import Environment, Inputs, Record
from sandbox.report.result import unset_lines
from unit.record.samples import sample_record
from unit.report.made_up import summary

BASELINE = {
    "mysql1": {
        "server_uuid": "a",
        "sync_binlog": "0",
        "max_connections": "500",
        "innodb_io_capacity": "200",
    }
}


def test_what_differs_is_reported_by_server() -> None:
    variant = {"mysql1": {**BASELINE["mysql1"], "server_uuid": "b", "sync_binlog": "1"}}
    (found,) = differences(BASELINE, variant)
    assert found == VariantDifference("mysql1", "sync_binlog", "0", "1")
    assert str(found) == "mysql1: sync_binlog is 1, the baseline has 0"


def test_a_variable_that_one_variant_lacks_differs() -> None:
    variant = {"mysql1": {**BASELINE["mysql1"], "thread_pool_size": "2"}}
    assert [(each.variable, each.baseline) for each in differences(BASELINE, variant)] == [
        ("thread_pool_size", None)
    ]


def test_what_was_asked_for_is_right_and_what_was_set_alike_must_be_alike() -> None:
    variant = {
        "mysql1": {
            "server_uuid": "b",
            "sync_binlog": "1",
            "max_connections": "400",
            "innodb_io_capacity": "300",
        }
    }
    planned = {"max_connections": "500", "sync_binlog": "0"}
    wrong, free = unasked(differences(BASELINE, variant), planned, {**planned, "sync_binlog": "1"})
    assert [each.variable for each in wrong] == ["max_connections"]
    assert [each.variable for each in free] == ["innodb_io_capacity"]


@pytest.mark.parametrize(
    "variable",
    [
        *(
            "server_uuid",
            "hostname",
            "port",
            "server_id",
            "gtid_executed",
            "gtid_binlog_pos",
            "timestamp",
            "report_host",
        ),
        *(
            "wsrep_node_address",
            "wsrep_cluster_address",
            "group_replication_local_address",
            "log_bin_basename",
            "datadir",
        ),
        *(
            "pseudo_thread_id",
            "rand_seed1",
            "ssl_cert",
            "wsrep_node_name",
            "slow_query_log_file",
        ),
    ],
)
def test_what_identifies_a_node_is_never_compared(variable: str) -> None:
    assert identifies_a_node(variable)


@pytest.mark.parametrize(
    "variable",
    [
        *(
            "sync_binlog",
            "innodb_buffer_pool_size",
            "max_connections",
            "transaction_isolation",
            "wsrep_slave_threads",
        ),
        *(
            "thread_handling",
            "innodb_flush_log_at_trx_commit",
            "innodb_doublewrite",
            "binlog_format",
        ),
        *(
            "log_bin",
            "log_bin_trust_function_creators",
            "gtid_mode",
            "gtid_strict_mode",
            "relay_log_recovery",
        ),
        *("log_error_verbosity", "explicit_defaults_for_timestamp", "default_password_lifetime"),
        "wsrep_provider_options:gcache.size",
    ],
)
def test_what_configures_a_server_is(variable: str) -> None:
    assert not identifies_a_node(variable)


def test_galera_options_are_compared_one_by_one() -> None:
    ours = "base_host = 172.0.0.2; gcache.size = 128M; evs.suspect_timeout = PT5S; "
    theirs = "base_host = 172.0.0.3; gcache.size = 256M; evs.suspect_timeout = PT5S"
    (found,) = differences(
        {"g1": {"wsrep_provider_options": theirs}}, {"g1": {"wsrep_provider_options": ours}}
    )
    assert found == VariantDifference("g1", "wsrep_provider_options:gcache.size", "256M", "128M")
    planned = {"wsrep_provider_options": "x"}
    assert unasked([found], planned, planned) == ([found], []) and unasked([found], {}, {}) == (
        [],
        [found],
    )


@pytest.mark.parametrize(
    ("one", "other"), [("ON", "1"), ("OFF", "0"), ("YES", "on"), ("row", "ROW")]
)
def test_servers_say_the_same_in_other_words(one: str, other: str) -> None:
    assert same(one, other) and not same(one, None) and not same(one, "2")


def test_what_set_asked_for_and_the_server_does_not_have_is_reported() -> None:
    servers = {
        "mysql1": {"innodb_buffer_pool_size": "67108864", "sync_binlog": "1"},
        "replica1": {"sync_binlog": "0"},
    }
    pool = (None, "innodb-buffer-pool-size", "64M")
    assert (
        not_in_effect([pool, ("replica", "sync_binlog", "OFF"), (None, "no_such", "1")], servers)
        == []
    )
    assert not_in_effect([(None, "sync_binlog", "1"), pool], servers) == [
        VariantDifference("replica1", "sync_binlog", "1", "0")
    ]


def test_a_variable_that_a_server_need_not_know_is_proved_where_it_does() -> None:
    asked = [(None, "loose_wsrep_sync_wait", "7")]
    assert (
        not_in_effect(asked, {"mysql1": {"sync_binlog": "1"}, "galera1": {"wsrep_sync_wait": "7"}})
        == []
    )
    (found,) = not_in_effect(asked, {"galera1": {"wsrep_sync_wait": "0"}})
    assert refusal(found) == "galera1: wsrep_sync_wait is 0, not 7"


def test_a_list_of_keys_is_proved_key_by_key() -> None:
    provider = "base_port = 4567; evs.suspect_timeout = PT2S; gmcast.segment = 0"
    servers = {"galera1": {"wsrep_provider_options": provider, "optimizer_switch": "a=on,mrr=on"}}
    asked = [
        ("galera1", "wsrep_provider_options", "gmcast.segment=1"),
        ("galera", "loose_wsrep_provider_options", "evs.suspect_timeout=PT2S; gmcast.segment=0"),
        (None, "optimizer_switch", "mrr=on"),
    ]
    assert not_in_effect(asked, servers) == []
    (found,) = not_in_effect(asked[:1], servers)
    assert refusal(found) == "galera1: wsrep_provider_options:gmcast.segment is 0, not 1"
    assert not_in_effect([("galera2", "wsrep_provider_options", "gmcast.segment=1")], servers) == []


ISOLATION = (None, "transaction_isolation", "READ-COMMITTED")


@pytest.mark.parametrize("name", ["transaction_isolation", "tx_isolation"])
def test_the_isolation_is_proved_by_whatever_name_a_server_has_for_it(name: str) -> None:
    assert not_in_effect([ISOLATION], {"mariadb1": {name: "READ-COMMITTED"}}) == []
    (found,) = not_in_effect([ISOLATION], {"mariadb1": {name: "REPEATABLE-READ"}})
    assert (
        refusal(found) == "mariadb1: transaction_isolation is REPEATABLE-READ, not READ-COMMITTED"
    )


def test_an_isolation_that_a_server_does_not_say_is_not_proved() -> None:
    (found,) = not_in_effect([ISOLATION, (None, "no_such", "1")], {"mysql1": {"sync_binlog": "1"}})
    assert (
        refusal(found)
        == "mysql1 has no transaction_isolation, so READ-COMMITTED cannot be verified"
    )


def test_a_variable_that_servers_call_differently_is_one() -> None:
    new = {"mysql1": {"transaction_isolation": "READ-COMMITTED", "transaction_read_only": "OFF"}}
    old = {"mariadb1": {"tx_isolation": "READ-COMMITTED", "tx_read_only": "OFF"}}
    assert differences(new, old) == []
    old["mariadb1"]["tx_isolation"] = "REPEATABLE-READ"
    found = differences(new, old)
    planned = {"transaction_isolation": "READ-COMMITTED"}
    assert [each.variable for each in found] == ["transaction_isolation"]
    assert unasked(found, planned, planned) == (found, [])
    assert unasked(found, planned, {"tx_isolation": "REPEATABLE-READ"}) == ([], [])
    raw = [VariantDifference("mariadb1", "tx_isolation", None, "REPEATABLE-READ")]
    assert unasked(raw, planned, planned) == (raw, []), "nobody calls it a value that nobody set"


VARIABLES = {"sync_binlog": "1", "innodb_io_capacity": "200", "server_uuid": "a", "old_only": "1"}


def record(cell: str, version: str = "9.7.0", cpus: str | None = None, **variables: str) -> Record:
    """An ok run of one server."""
    plain = sample_record()
    nodes = [plain.nodes[0].model_copy(update={"server_version": version})]
    return plain.model_copy(
        update={
            "cell": cell,
            "nodes": nodes,
            "variables": {"mysql1": {**VARIABLES, **variables}},
            "environment": Environment(inputs=Inputs(cpus=cpus)),
        }
    )


def part(**changed: Any) -> MatrixPart:
    """Two servers by two numbers of threads."""
    cells = [
        CellPart(
            name=f"{server}-{n}",
            levels={"server": server, "threads": str(n)},
            profile="mysql",
            variant=f"variant-{server}",
        )
        for server in ("a", "b")
        for n in (1, 2)
    ]
    given: dict[str, Any] = {
        "name": "x",
        "title": "X",
        "question": "What?",
        "note": "",
        "key": "k",
        "host_class": "here",
        "seed": 1,
        "blocks": 6,
        "depth": "slices",
        "warmup_s": 1,
        "seconds": 2,
        "metrics": ["tps"],
        "factors": {"server": ["a", "b"], "threads": ["1", "2"]},
        "baseline": {"server": "a"},
        "cells": cells,
        "comparisons": [ComparisonPart(cell=f"b-{n}", baseline=f"a-{n}") for n in (1, 2)],
        "canary": ComparisonPart(cell="canary", baseline="a-1"),
        "planned": {"variant-a": {"sync_binlog": "1"}, "variant-b": {"sync_binlog": "0"}},
    }
    return MatrixPart(**{**given, **changed})


def test_only_what_no_layer_set_is_found_once_for_a_pair_of_variants() -> None:
    newer = record(
        "b-1", "11.8.6", sync_binlog="0", innodb_io_capacity="300", server_uuid="b", new_only="2"
    )
    (found,) = compared_variants(
        part(), [record("a-1"), record("a-2"), newer, record("b-2", "11.8.6")]
    )
    assert [each.variable for each in found.unset] == ["innodb_io_capacity"]
    assert (found.cell.name, found.baseline.name, found.causes) == ("b-1", "a-1", ("version",))
    assert [each.variable for each in found.only_one] == ["new_only"]


def test_limits_are_causes_and_nothing_different_is_nothing() -> None:
    (found,) = compared_variants(
        part(), [record("a-1"), record("b-1", cpus="0.5", innodb_io_capacity="1")]
    )
    assert found.causes == ("CPUS",)
    (found,) = compared_variants(part(), [record("a-1"), record("b-1", sync_binlog="0")])
    assert not found.unset and not found.only_one
    assert compared_variants(part(), [record("a-1")]) == [], "the other has not run"


def test_they_are_listed_in_the_summary() -> None:
    (text,) = unset_lines(
        part(), [record("a-1"), record("b-1", "11.8.6", innodb_io_capacity="300")]
    )
    assert text == "server b against a (different version): `innodb_io_capacity` 200 → 300"
    judged = Judged([], [], {}, unfit=False)
    whole = summary(
        part(),
        judged,
        [record("a-1"), record("b-1", "11.8.6", innodb_io_capacity="300")],
        ["", "matrix"],
    )
    assert f"\n\n### Differing values that nobody set\n\n- {text}\n\n### " in whole
    assert unset_lines(part(), [record("a-1"), record("b-1", "11.8.6")]) == []

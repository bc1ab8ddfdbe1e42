"""Records of upgrade checks as they could have been left."""

from typing import Any

from sandbox.record.record import Record
from sandbox.record.upgrade import (
    DefaultRecord,
    FindingKind,
    ProbedTransaction,
    RemovedRecord,
    ReplicationRecord,
    UpgradeFinding,
    UpgradeRecord,
)
from unit.record.samples import sample_record


def finding(kind: FindingKind, matters: bool = True) -> UpgradeFinding:
    """A difference of one kind."""
    return UpgradeFinding(
        kind=kind, matters=matters, on_from=f"{kind} before", on_to=f"{kind} after",
        query="select name from reader where street = 'Hauptstrasse'", count=4, note=f"of {kind}",
    )  # fmt: skip


def probed(fails: bool | None = True) -> ProbedTransaction:
    """A transaction that was tried with a second session."""
    said = {True: "error 1020: Record has changed", False: "no error", None: "no row to change"}
    return ProbedTransaction(
        statements=["begin", "select copies from book", "update book set copies = 1"],
        other="update book set copies = 1", count=7, on_from="no error", on_to=said[fails],
        fails_on_to=fails,
    )  # fmt: skip


def upgrade(**changed: Any) -> UpgradeRecord:
    """An upgrade check with something of everything."""
    values: dict[str, Any] = {
        "from_server": "mariadb@10.11",
        "to_server": "mariadb@11.8",
        "from_version": "10.11.19-MariaDB (Debian 12)",
        "to_version": "11.8.9-MariaDB (Debian)",
        "log": "slow.log",
        "log_format": "slow log",
        "log_sha256": "ab" * 32,
        "dump": "library.sql",
        "dump_sha256": "cd" * 32,
        "configuration": "my.cnf",
        "statements": 120,
        "distinct": 31,
        "left_out": {"ends the server": 1},
        "pt_upgrade": {"queries_read": 119, "queries_with_diffs": 3},
        "findings": [finding("rows"), finding("conflict"), finding("plan", matters=False)],
        "defaults": [
            DefaultRecord(
                variable="innodb_snapshot_isolation", on_from="OFF", on_to="ON",
                met="1 distinct query: transactions", meaning="a transaction ends with error 1020",
            ),
            DefaultRecord(variable="eq_range_index_dive_limit", on_from="0", on_to="200"),
        ],
        "removed": [
            RemovedRecord(variable="old_thing", named_by="the log", instead="new_thing"),
            RemovedRecord(variable="other_thing"),
        ],
        "replication": ReplicationRecord(
            replica="replica1", caught_up_s=0.25, seen="the replica has applied everything"
        ),
        "seconds": 21.5,
    }  # fmt: skip
    return UpgradeRecord(**{**values, **changed})


def upgrade_run(**changed: Any) -> Record:
    """The record of a check that was carried out."""
    record = sample_record(profile="mariadb@10.11+replica1@11.8+mariadb@11.8")
    return record.model_copy(update={"upgrade": upgrade(transactions=[probed()], **changed)})

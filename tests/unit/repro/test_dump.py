"""Dumps: the files of mydumper's folder in order, and what is wrong before one is loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from sandbox.core.errors import SandboxError
from sandbox.repro.dump import stages_of_folder
from sandbox.repro.dump_loading import DumpError, load_dump, refuse_dump
from sandbox.repro.file import read_repro
from sandbox.stack.protocol import EntryPoint, ExecResult, RunningStack
from unit.repro.test_file import GOOD, write

FOLDER = [
    "metadata",
    "shop-schema-create.sql.zst",
    "shop.orders-schema.sql.zst",
    "shop.orders.00000.sql.zst",
    "shop.orders.00001.sql.zst",
    "shop.orders-schema-triggers.sql.zst",
    "shop.recent-schema.sql.zst",
    "shop.recent-schema-view.sql.zst",
    "shop-schema-post.sql.zst",
    "shop.orders-checksum",
]


def names(files: Sequence[Sequence[Any]]) -> list[list[str]]:
    """The stages without what is the same in all."""
    return [[each.name.removesuffix(".sql.zst") for each in stage] for stage in files]


def test_files_are_loaded_in_the_order_in_which_they_need_one_another() -> None:
    stages = stages_of_folder(FOLDER)
    assert names(stages) == [
        ["shop-schema-create"],
        ["shop.orders-schema", "shop.recent-schema"],
        ["shop.orders.00000", "shop.orders.00001"],
        ["shop.orders-schema-triggers"],
        ["shop.recent-schema-view"],
        ["shop-schema-post"],
    ]
    assert {each.schema for stage in stages[1:] for each in stage} == {"shop"}
    assert stages[0][0].schema is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda all_: [*all_, "metadata.partial"], "it was not finished|was not finished"),
        (lambda all_: all_[1:], "no file metadata"),
        (lambda all_: [*all_, "shop.orders.00002.dat"], "shop.orders.00002.dat is no SQL"),
        (
            lambda all_: [each for each in all_ if each != "shop.orders-schema.sql.zst"],
            "rows of shop.orders, but no shop.orders-schema.sql",
        ),
        (lambda all_: [each for each in all_ if "create" not in each], "no shop-schema-create"),
        (lambda all_: [*all_, "orders.sql"], "orders.sql is no file of mydumper"),
    ],
)
def test_a_folder_that_lacks_something_is_refused(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stages_of_folder(change(FOLDER))


def test_what_is_missing_is_refused_with_the_line_of_the_file(tmp_path: Path) -> None:
    text = GOOD.replace("steps:", f"load:\n  file: {tmp_path}/gone.sql\nsteps:")
    with pytest.raises(SandboxError) as caught:
        read_repro(write(tmp_path, text))
    assert "mine.yaml:5 " in caught.value.what
    assert caught.value.known.endswith("gone.sql is not there")


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "dump.tar"
    other.write_text("")
    with pytest.raises(DumpError, match=r"dump.tar is no dump: .*\.sql\.zst"):
        refuse_dump(other)


class FakeClient:
    """Notes what is run in the client node; fails for names that it is told."""

    def __init__(self, failing: str = "nothing") -> None:
        self.failing = failing
        self.ran: list[tuple[str, list[str], str]] = []

    def run(
        self, _node: str, argv: Sequence[str], stdin: str | None, _timeout_s: float
    ) -> ExecResult:
        script, *words = argv[2:]
        self.ran.append((script, words, stdin or ""))
        if self.failing in (stdin or ""):
            return ExecResult(1, "", "ERROR 1064 (42000) at line 1: no")
        return ExecResult(0, "", "")


def loaded(client: FakeClient, path: Path) -> None:
    """Loads a dump through a fake client."""
    writer = EntryPoint("mysql1", "mysql1", 3306, 1, "writer")
    load_dump(cast("RunningStack", client), "client1", writer, path, "repro")


def test_a_packed_file_is_unpacked_in_the_client_byte_by_byte(tmp_path: Path) -> None:
    dump = tmp_path / "d.sql.zst"
    dump.write_bytes(b"\x28\xb5\x2f\xfd\xff")
    client = FakeClient()
    loaded(client, dump)
    ((script, words, content),) = client.ran
    assert script == 'set -o pipefail; zstd -dcq | mysql "$@"'
    assert words[-1] == "repro" and "-P" in words
    assert content.encode("utf-8", "surrogateescape") == dump.read_bytes()


def test_a_folder_goes_into_its_own_schemas(tmp_path: Path) -> None:
    for name in ("metadata", "s-schema-create.sql", "s.t-schema.sql", "s.t.00000.sql"):
        (tmp_path / name).write_text(name)
    client = FakeClient()
    loaded(client, tmp_path)
    schemas = [words[-1] for _, words, _ in client.ran]
    assert schemas == ["repro", "s", "s"]
    with pytest.raises(DumpError, match=r"s\.t\.00000\.sql fails: ERROR 1064"):
        loaded(FakeClient("00000"), tmp_path)

"""An archive: its layout, and no password in it, looked for by value."""

from pathlib import Path

import pytest
import zstandard

from sandbox.collect.archive import evidence_folder, pack, read_archive
from sandbox.core.errors import ExitCode, SandboxError

SECRETS = frozenset({"Zx9Password000000000000a", "Another1Password00000000"})


def test_an_archive_has_one_folder_with_the_files_and_nothing_else_stays(tmp_path: Path) -> None:
    archive = tmp_path / "made.tar.zst"
    with evidence_folder(archive, SECRETS) as folder:
        folder.write("README.txt", "read me\n")
        folder.write("mysql1/log.txt", "größe \udcff\n")
        length = pack(folder, archive, "made")
    assert dict(read_archive(archive)) == {
        "made/README.txt": b"read me\n",
        "made/mysql1/log.txt": "größe ".encode() + b"\xff\n",
    }
    assert [each.name for each in tmp_path.iterdir()] == ["made.tar.zst"]
    assert archive.stat().st_size == length
    assert archive.stat().st_mode & 0o777 == 0o600


def test_no_password_is_in_it_by_value_or_by_name(tmp_path: Path) -> None:
    archive = tmp_path / "made.tar.zst"
    first, second = sorted(SECRETS)
    with evidence_folder(archive, SECRETS) as folder:
        folder.write("mysql1/log.txt", f"password={first}\n")
        folder.write("mysql1/variables.tsv", f"a\tb\nwsrep_sst_auth\tsst:x\nb\t{second}\n", True)
        folder.lacks("mysql1/pt-stalk.txt", f"refused:\n  {first}")
        assert first not in folder.missing["mysql1/pt-stalk.txt"]
        pack(folder, archive, "made")
    found = dict(read_archive(archive))
    content = b"".join(found.values())
    assert not [secret for secret in SECRETS if secret.encode() in content]
    assert found["made/mysql1/variables.tsv"] == b"a\tb\nwsrep_sst_auth\t********\nb\t********\n"


@pytest.mark.parametrize("cut", [1, 10, 23, 24, 25])
def test_a_core_keeps_its_length_and_loses_its_passwords(tmp_path: Path, cut: int) -> None:
    (secret, _) = sorted(SECRETS)
    memory = b"\0" * 50 + secret.encode() + b"\xff" * 30 + secret.encode()
    packer = zstandard.ZstdCompressor().compressobj()
    # Each part ends so that the password lies across its end.
    parts = [packer.compress(memory[: 50 + cut]), packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)]
    parts += [packer.compress(memory[50 + cut :]), packer.flush()]
    archive = tmp_path / "made.tar.zst"
    with evidence_folder(archive, SECRETS) as folder:
        for part in parts:
            folder.write_part("mysql1/core.mysqld.7", part)
        folder.close()
        assert folder.files == {"mysql1/core.mysqld.7": len(memory)}
        pack(folder, archive, "made")
    ((_, core),) = read_archive(archive)
    assert core == memory.replace(secret.encode(), b"*" * len(secret))


def test_a_place_that_cannot_be_written_is_three_lines(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    archive = tmp_path / "file" / "made.tar.zst"
    with pytest.raises(SandboxError) as caught, evidence_folder(archive, SECRETS):
        pass
    assert caught.value.exit_code == ExitCode.ENVIRONMENT
    assert str(archive) in caught.value.what

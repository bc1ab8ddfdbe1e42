"""Where a server is found in what somebody hands in, and where its files belong in an image."""

import io
import tarfile
from pathlib import Path

import pytest

from sandbox.stack.binary_build import place_files
from sandbox.stack.binary_tree import LAYOUTS, found_at, machine_of, symbols_of, tree_at

ELF = (
    b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00" + b"GLIBC_2.34 GLIBC_2.4 GLIBCXX_3.4.30"
)


def made(root: Path, *paths: str) -> Path:
    """A folder with these files, each of which contains its path; a server is a program."""
    for each in paths:
        path = root / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(ELF if path.name in ("mysqld", "mariadbd") else each.encode())
        path.chmod(0o755)
    return root


def packed(root: Path, archive: Path) -> Path:
    """The folder as an archive, below one folder of its name."""
    with tarfile.open(archive, "w:xz") as file:
        file.add(root, arcname="mysql-9.7.4-linux")
    return archive


@pytest.mark.parametrize(
    ("path", "layout", "top"),
    [
        ("bin/mysqld", "an installed tree", ""),
        ("mysql-9.7.4-linux/bin/mysqld", "an installed tree", "mysql-9.7.4-linux/"),
        ("usr/sbin/mariadbd", "an unpacked package", ""),
        ("tree/usr/sbin/mysqld", "an unpacked package", "tree/"),
        ("build/runtime_output_directory/mysqld", "a build of MySQL", "build/"),
        ("sql/mariadbd", "a build of MariaDB", ""),
        ("sbin/mariadbd", "an installed tree", ""),
    ],
)  # fmt: skip
def test_layouts(path: str, layout: str, top: str) -> None:
    found = found_at(path)
    assert found is not None
    assert (found.layout.name, found.top, found.path) == (layout, top, path)


@pytest.mark.parametrize("path", ["a/b/bin/mysqld", "bin/mysqld-debug", "bin/mysql", "mysqld"])
def test_what_is_no_server(path: str) -> None:
    assert found_at(path) is None


def test_an_installed_tree_goes_to_one_place_without_its_tests(tmp_path: Path) -> None:
    root = made(
        tmp_path / "in", "bin/mysqld", "bin/mysql", "bin/mysqld-debug", "share/english/errmsg.sys",
        "lib/plugin/a.so", "lib/private/libssl.so.3", "lib/libx.a", "mysql-test/t/a.test",
        "man/m.1", "lib/plugin/debug/a.so",
    )  # fmt: skip
    (root / "bin" / "mysql_upgrade").symlink_to("mysql")
    tree = tree_at(root)
    found = tree.find()
    assert found is not None
    base = "usr/local/mysql"
    assert place_files(tree, found, tmp_path / "out") == {
        f"{base}/bin/mysqld",
        f"{base}/bin/mysql",
        f"{base}/bin/mysql_upgrade",
        f"{base}/share/english/errmsg.sys",
        f"{base}/lib/plugin/a.so",
        f"{base}/lib/private/libssl.so.3",
    }
    assert (tmp_path / "out" / base / "bin" / "mysql_upgrade").readlink() == Path("mysql")
    assert (tmp_path / "out" / base / "bin" / "mysqld").stat().st_mode & 0o777 == 0o755


def test_an_archive_has_the_files_of_its_folder(tmp_path: Path) -> None:
    root = made(tmp_path / "in", "bin/mysqld", "bin/mysql", "share/charsets/Index.xml")
    (root / "bin" / "again").hardlink_to(root / "bin" / "mysql")
    (root / "bin" / "link").symlink_to("mysql")
    archive = tree_at(packed(root, tmp_path / "server.tar.xz"))
    folder = tree_at(root)
    places = []
    for tree, out in ((archive, "a"), (folder, "b")):
        found = tree.find()
        assert found is not None and tree.program(found) == ELF
        places.append(place_files(tree, found, tmp_path / out))
    assert places[0] == places[1]
    for place in places[0]:
        one, other = tmp_path / "a" / place, tmp_path / "b" / place
        assert one.is_symlink() == other.is_symlink() and one.read_bytes() == other.read_bytes()


def test_an_unpacked_package_keeps_its_places(tmp_path: Path) -> None:
    root = made(
        tmp_path / "in", "usr/sbin/mariadbd", "usr/share/mysql/a.sql", "usr/share/doc/a/copyright",
        "etc/mysql/my.cnf", "usr/lib/mysql/plugin/a.so",
    )  # fmt: skip
    (root / "usr/sbin/mysqld").symlink_to("mariadbd")
    tree = tree_at(root)
    found = tree.find()
    assert found is not None and found.program == "mariadbd"
    assert place_files(tree, found, tmp_path / "out") == {
        "usr/sbin/mariadbd",
        "usr/sbin/mysqld",
        "usr/share/mysql/a.sql",
        "usr/lib/mysql/plugin/a.so",
    }


def test_a_build_of_mysql_takes_charsets_from_its_source(tmp_path: Path) -> None:
    source = made(
        tmp_path / "source", "share/charsets/Index.xml", "share/dictionary.txt", "sql/a.cc"
    )
    build = made(
        tmp_path / "build", "runtime_output_directory/mysqld", "runtime_output_directory/mysql",
        "runtime_output_directory/merge_small_tests-t", "plugin_output_directory/mysqlx.so",
        "library_output_directory/libprotobuf-lite.so.24.4.0", "share/english/errmsg.sys",
        "sql/CMakeFiles/a.o", "share/CMakeFiles/b.txt",
    )  # fmt: skip
    (build / "CMakeCache.txt").write_text(f"A:B=c\nCMAKE_HOME_DIRECTORY:INTERNAL={source}\n")
    tree = tree_at(build)
    found = tree.find()
    assert found is not None
    places = place_files(tree, found, tmp_path / "out")
    assert {place.removeprefix("usr/local/mysql/") for place in places} == {
        "bin/mysqld",
        "bin/mysql",
        "lib/plugin/mysqlx.so",
        "lib/libprotobuf-lite.so.24.4.0",
        "share/english/errmsg.sys",
        "share/charsets/Index.xml",
        "share/dictionary.txt",
    }
    loader = tmp_path / "out" / "etc/ld.so.conf.d/zz-sandbox-server.conf"
    assert loader.read_text() == "/usr/local/mysql/lib\n"


def test_a_build_of_mariadb_is_gathered(tmp_path: Path) -> None:
    source = made(
        tmp_path / "source", "scripts/mysql_system_tables.sql", "sql/share/charsets/a.xml"
    )
    build = made(
        tmp_path / "build", "sql/mariadbd", "client/mariadb", "client/mariadb-admin",
        "extra/my_print_defaults", "extra/resolveip", "extra/mariabackup/mariadb-backup",
        "scripts/mariadb-install-db", "scripts/wsrep_sst_mariabackup",
        "scripts/mysql_fix_privilege_tables.sql", "sql/share/english/errmsg.sys",
        "storage/rocksdb/ha_rocksdb.so", "plugin/auth_ed25519/auth_ed25519.so",
        "client/CMakeFiles/mariadb.dir/x", "client/Makefile", "unittest/sql/mf-t",
        "libmariadb/libmariadb/libmariadb.so.3",
    )  # fmt: skip
    (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={source}\n")
    tree = tree_at(build)
    found = tree.find()
    assert found is not None
    places = place_files(tree, found, tmp_path / "out")
    assert {place.removeprefix("usr/local/mysql/") for place in places} == {
        "bin/mariadbd",
        "bin/mariadb",
        "bin/mariadb-admin",
        "bin/my_print_defaults",
        "bin/resolveip",
        "bin/mariadb-backup",
        "scripts/mariadb-install-db",
        "scripts/wsrep_sst_mariabackup",
        "share/mysql_fix_privilege_tables.sql",
        "share/mysql_system_tables.sql",
        "share/english/errmsg.sys",
        "share/charsets/a.xml",
        "lib/plugin/ha_rocksdb.so",
        "lib/plugin/auth_ed25519.so",
        "lib/libmariadb.so.3",
    }


def test_no_file_of_an_archive_leaves_its_folder(tmp_path: Path) -> None:
    archive = tmp_path / "server.tar"
    with tarfile.open(archive, "w") as file:
        for name in ("bin/mysqld", "bin/../../../../../outside", "lib/out/a.so"):
            member = tarfile.TarInfo(name)
            member.size = len(ELF)
            file.addfile(member, io.BytesIO(ELF))
            if name == "bin/mysqld":
                link = tarfile.TarInfo("lib/out")
                link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
                file.addfile(link)
    tree = tree_at(archive)
    found = tree.find()
    assert found is not None
    assert place_files(tree, found, tmp_path / "out") == {
        "usr/local/mysql/bin/mysqld",
        "usr/local/mysql/lib/out",
    }
    assert not (tmp_path / "a.so").exists() and not (tmp_path / "outside").exists()


@pytest.mark.parametrize(
    ("program", "machine"),
    [
        (ELF, "amd64"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00", "arm64"),
        (b"\x7fELF\x02\x02\x01" + bytes(9) + b"\x00\x02\x00\x16", "s390x"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\x28\x00", "processor 40 of the ELF header"),
        (b"#!/bin/sh\nexec mysqld", None),
        (b"", None),
    ],
)
def test_machines(program: bytes, machine: str | None) -> None:
    assert machine_of(program) == machine


def test_the_c_library_that_a_program_needs() -> None:
    assert symbols_of(ELF) == (34, 30)
    assert symbols_of(b"static") == (0, 0)


def test_every_layout_knows_where_its_server_belongs() -> None:
    for layout in LAYOUTS:
        for program in ("mysqld", "mariadbd"):
            if layout.name == "a build of MySQL" and program == "mariadbd":
                continue
            place = layout.place(f"{layout.folder}/{program}")
            assert place is not None and place.endswith(f"bin/{program}")

"""Versions as packages, tags and servers write them."""

import pytest

from sandbox.profile.versions import answers_to, package_tag, packaged_version, short_version


@pytest.mark.parametrize(
    ("package", "tag", "version"),
    [
        ("1:10.11.18-0+deb12u1", "10.11.18-0-deb12u1", "10.11.18"),
        ("1:11.8.9+ds-4", "11.8.9-ds-4", "11.8.9"),
        ("9.7.4-2", "9.7.4-2", "9.7.4"),
        ("2.53.3+ds1-2", "2.53.3-ds1-2", "2.53.3"),
        ("0.17.2-1+b4", "0.17.2-1-b4", "0.17.2"),
        ("3.5~rc1-1", "3.5-rc1-1", "3.5"),
    ],
)
def test_a_package_names_its_program_and_its_image(package: str, tag: str, version: str) -> None:
    assert (package_tag(package), packaged_version(package)) == (tag, version)


@pytest.mark.parametrize(
    ("asked", "reported"),
    [
        ("10.11.18", "10.11.18-MariaDB-0+deb12u1-log"),
        ("10.11.18", "10.11.18-MariaDB-ubu2204"),
        ("11.8.9-ds-4", "11.8.9-MariaDB-4 from Debian"),
        ("9.7.2", "9.7.2"),
        ("9.7.4", "9.7.4-2"),
        ("9.7.4-2", "9.7.4-2"),
        ("8.0.36-28", "8.0.36-28"),
        ("8.0.36-28.1", "8.0.36-28"),
        ("8.0.45-36.1", "8.0.45-36.1"),
        ("5.7.44", "5.7.44-48-log"),
        ("8.0.32-1.2.11-server", "8.0.32"),
        ("8.0.36-debian", "8.0.36"),
    ],
)
def test_a_server_is_what_was_asked_for(asked: str, reported: str) -> None:
    assert answers_to(asked, reported)


@pytest.mark.parametrize(
    ("asked", "reported"),
    [
        ("10.11.18", "10.11.19-MariaDB-0+deb12u1"),
        ("10.11.1", "10.11.18-MariaDB"),
        ("9.7.4-2", "9.7.4-3"),
        ("8.0.36-28", "8.0.36-29"),
        ("8.0.36-28.1", "8.0.36-29"),
        ("8.0.32-1.2.11-server", "8.0.33"),
        ("8.0.36", "8.0.3"),
        ("9.7.2", "nothing like a version"),
    ],
)
def test_a_server_is_another_version(asked: str, reported: str) -> None:
    assert not answers_to(asked, reported)


@pytest.mark.parametrize(
    ("reported", "shown"),
    [
        ("10.11.18-MariaDB-0+deb12u1-log", "10.11.18"),
        ("8.0.36-28", "8.0.36-28"),
        ("9.7.4-2", "9.7.4-2"),
        ("v0.17.2", "0.17.2"),
        ("edge", "edge"),
    ],
)
def test_a_table_shows_the_numbers(reported: str, shown: str) -> None:
    assert short_version(reported) == shown

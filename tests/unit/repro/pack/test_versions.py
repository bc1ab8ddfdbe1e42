"""The version in which a repro is packed where none is asked for."""

import pytest

from sandbox.profile.images import Availability
from sandbox.profile.reader import load_library
from sandbox.repro.pack.versions import (
    exact_versions,
    server_image,
    version_to_pack,
    with_published_images,
)
from unit.repro.pack.packing import repro_of

LIBRARY = load_library()
PUBLISHED = with_published_images(LIBRARY)
EVERYWHERE = Availability(registry=lambda: True)
STEPS = "steps: [{s1: begin}]"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("", "11.8"),  # the default
        ("affected: {mariadb: ['>=10.3']}", "11.8"),
        ("affected: {mariadb: ['<11.6']}", "11.4"),  # the newest series that has it
        ("affected: {mariadb: ['<=10.5.23']}", "10.5.23"),  # an exact version alone has it
        ("affected: {mariadb: ['<5']}", "11.8"),
        ("affected: {mysql: ['>=5.5']}", "11.8"),
    ],
)
def test_the_newest_version_that_has_the_bug(text: str, version: str) -> None:
    repro = repro_of(f"profile: mariadb+replica1\n{text}\n{STEPS}")
    exact = exact_versions(server_image(repro, LIBRARY))
    found = version_to_pack(repro, PUBLISHED, EVERYWHERE, exact)
    assert (found.version, found.profile) == (version, f"mariadb@{version}+replica1")


def test_the_version_of_the_profile_stays() -> None:
    found = version_to_pack(repro_of(f"profile: mysql@8.0\n{STEPS}"), PUBLISHED, EVERYWHERE)
    assert (found.version, found.profile) == ("8.0", "mysql@8.0")


def test_of_the_images_that_are_here() -> None:
    here = Availability(local=frozenset({"mariadb:10.6.28"}))
    repro = repro_of(f"profile: mariadb\naffected: {{mariadb: ['>=11']}}\n{STEPS}")
    assert version_to_pack(repro, LIBRARY, here).version == "10.6"

"""images/catalog.yaml: series, aliases, builds, capabilities that hold together; no image named
anywhere else.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract import stacks
from sandbox.measure.trial import drivers
from sandbox.profile.images import Build, CatalogImage, VersionSeries, built_reference
from sandbox.profile.versions import belongs_to, package_tag, packaged_version
from sandbox.repro import mysqltest
from sandbox.upgrade import toolkit

IMAGES = stacks.LIBRARY.catalog.images
SERIES = [
    (key, name, series) for key, image in IMAGES.items() for name, series in image.series.items()
]
BUILDS = [(key, name, series.build) for key, name, series in SERIES if series.build]
_NAMED = re.compile(r"(?<![\w./-])(?P<repository>(?:[\w.-]+/)*[\w-]+):(?P<tag>v?\d[\w.-]*)")


@pytest.mark.parametrize("key", IMAGES)
def test_the_default_and_every_alias_are_series(key: str) -> None:
    image: CatalogImage = IMAGES[key]
    assert image.default in image.series
    assert set(image.aliases.values()) <= set(image.series)
    assert not set(image.aliases) & set(image.series)


@pytest.mark.parametrize(
    ("key", "name", "series"),
    SERIES,
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_series_has_a_version_and_a_source(key: str, name: str, series: VersionSeries) -> None:
    assert series.published or series.build, "it comes from nowhere"
    for version in [series.version, *series.tags]:
        owners = [other for other in IMAGES[key].series if belongs_to(version, other)]
        assert name in owners, f"{version} is not of {name}"


@pytest.mark.parametrize(
    ("key", "name", "build"), BUILDS, ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_a_build_is_a_folder_whose_dockerfile_installs_the_package(
    key: str, name: str, build: Build
) -> None:
    dockerfile = stacks.CHECKOUT / "images" / build.folder / "Dockerfile"
    text = dockerfile.read_text()
    assert "FROM debian:${SUITE}-slim" in text
    stem = re.sub(r"-[0-9.]+$", "", build.package)
    assert re.search(rf'["\s]{re.escape(stem)}', text), (
        f"{dockerfile} does not install {build.package}"
    )


@pytest.mark.parametrize(
    ("key", "name", "build"), BUILDS, ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_an_exact_build_has_the_name_that_its_package_gives_it(
    key: str, name: str, build: Build
) -> None:
    for version, exact in build.versions.items():
        assert belongs_to(version, name), f"{version} is not of {key} {name}"
        assert version in (packaged_version(exact.package), package_tag(exact.package))


@pytest.mark.parametrize("key", IMAGES)
def test_no_two_exact_builds_are_one(key: str) -> None:
    names = [
        name
        for series in IMAGES[key].series.values()
        if series.build
        for name in series.build.versions
    ]
    assert len(names) == len(set(names))
    packages = [
        built_reference(key, each.package, each.suite)
        for series in IMAGES[key].series.values()
        if series.build
        for each in series.build.versions.values()
    ]
    assert len(packages) == len(set(packages))


@pytest.mark.parametrize(
    ("key", "name", "build"), BUILDS, ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_a_series_that_is_also_published_says_which_version_a_build_has(
    key: str, name: str, build: Build
) -> None:
    """Else a plan would show the published version, which is not the one that is built."""
    if IMAGES[key].series[name].published:
        assert build.newest is not None


def test_a_repository_with_tags_of_its_own_takes_no_tag_of_another() -> None:
    for image in IMAGES.values():
        for name, series in image.series.items():
            taken = [
                shape
                for shape in image.repositories.values()
                if re.fullmatch(shape, series.version)
            ]
            assert taken == [], f"{name}: {series.version}"


def test_what_runs_without_a_registry_is_the_default() -> None:
    buildable = {key for key, _, _ in BUILDS}
    assert [key for key in buildable if IMAGES[key].series[IMAGES[key].default].build is None] == []


def images_in_use() -> set[str]:
    """Image keys that some component runs, and those of what runs beside a node: drivers, toolkit,
    mysqltest.
    """
    keys = {drivers.IMAGE, toolkit.IMAGE, *mysqltest.IMAGES.values()}
    for name in stacks.COMPONENTS:
        spec = stacks.component(name).spec
        keys |= {auxiliary.image for auxiliary in spec.auxiliary.values()}
        keys |= {spec.image} if spec.image else set()
    return keys


def test_every_image_is_run_by_a_component_and_every_component_has_one() -> None:
    assert images_in_use() == set(IMAGES)


def test_every_capability_is_asked_for_by_a_setting_and_no_other_is() -> None:
    asked = {
        variant.when.capability
        for setting in stacks.LIBRARY.settings.values()
        for variant in setting.variants
        if variant.when.capability
    }
    assert {capability for image in IMAGES.values() for capability in image.capabilities} == asked


def files_with_references() -> Iterator[Path]:
    """Tracked and new files that could name an image: not the catalog, tests, documents, locks."""
    command = [
        "git",
        "ls-files",
        "-co",
        "--exclude-standard",
        "compose",
        "profiles",
        "scripts",
        "images",
        "Makefile",
    ]
    listed = subprocess.run(
        command, cwd=stacks.CHECKOUT, text=True, capture_output=True, check=True
    )
    for name in listed.stdout.splitlines():
        if name not in ("images/catalog.yaml", "images/lock.yaml") and not name.endswith(".lock"):
            yield stacks.CHECKOUT / name


def test_published_images_are_named_in_the_catalog_alone() -> None:
    repositories = {series.published for _, _, series in SERIES if series.published}
    repositories |= {name for image in IMAGES.values() for name in image.repositories}
    found = []
    for path in files_with_references():
        for match in _NAMED.finditer(path.read_text(encoding="utf-8")):
            if match["repository"] in repositories:
                found.append(f"{path.relative_to(stacks.CHECKOUT)}: {match[0]}")
    assert found == []

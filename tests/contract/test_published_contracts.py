"""What the fragments ask of published images is what those images know (image_contracts.yaml); none
can run here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ConfigDict

from contract import stacks
from sandbox.profile.files import AS_USER, image_user
from sandbox.profile.plan import Node


class Contract(BaseModel):
    """One published image, as its Dockerfile and entrypoint have it."""

    model_config = ConfigDict(extra="forbid")
    source: str
    facts: str
    environment: list[str]
    ignored: list[str] = []
    """Variables that a fragment sets for its other images, and that this one does not read."""
    paths: list[str]
    ports: list[int]
    user: str | None
    starts_as: str | None
    volumes: list[str]
    entrypoints: list[str]
    base: str
    programs: list[str]

    @property
    def callable_programs(self) -> set[str]:
        """What a script in the image may call."""
        return {*self.programs, *self.entrypoints, *BASES[self.base]}


_DATA = yaml.safe_load(
    (stacks.CHECKOUT / "tests" / "contract" / "image_contracts.yaml").read_text()
)
BASES: dict[str, list[str]] = _DATA.pop("x-programs")
CONTRACTS = {name: Contract.model_validate(data) for name, data in _DATA.items()}
_OTHERS = {"gosu", "hostname", "perl", "ps", "python3", "setpriv", "ss", "su", "xargs"}
KNOWN_PROGRAMS = _OTHERS.union(
    *BASES.values(), *(contract.programs for contract in CONTRACTS.values())
)
_COMMAND = re.compile(
    r"(?:^|[|;&({!`]|\$\(|\b(?:then|do|else|exec|until|while|if|timeout \d+)\s)\s*([a-z][\w-]*)",
    re.MULTILINE,
)
_ENTRYPOINT = re.compile(
    r"(?<![\w./-])((?:/[\w.-]+)*/[\w.-]*entrypoint(?:\.sh)?|[\w.-]*entrypoint\.sh)(?![\w./-])"
)


@dataclass(frozen=True)
class Use:
    """One service of a published image in one stack."""

    where: str
    repository: str
    node: Node
    service: dict[str, Any]
    files: dict[str, str]

    @property
    def contract(self) -> Contract:
        """What its image knows."""
        return CONTRACTS[self.repository]

    @property
    def entrypoint(self) -> list[str]:
        """What is started, as the image's own user."""
        words: list[str] = self.service.get("entrypoint") or [self.contract.entrypoints[0]]
        return words[3:] if words[:2] == ["sh", AS_USER] else words

    @property
    def scripts(self) -> list[str]:
        """Shell that runs in it, without comments."""
        texts = [text for text in self.files.values() if text.startswith("#!")]
        words = [*self.entrypoint, *self.service["healthcheck"]["test"]]
        return [
            re.sub(r"(?m)(^|\s)#.*$", "", text) for text in [*texts, *(str(word) for word in words)]
        ]


def repository(reference: str) -> str:
    """``repository`` of ``repository:tag@digest``."""
    return reference.partition("@")[0].rpartition(":")[0]


def uses(name: str) -> Iterator[Use]:
    """Every service of a published image in every stack with a component."""
    for profile in stacks.profiles_with(name):
        composed = stacks.document(profile)
        for node in stacks.plan(profile).nodes:
            if node.choice.origin == "published" and node.name in composed["services"]:
                service = composed["services"][node.name]
                mounted = {
                    mount["target"]: composed["configs"][mount["source"]]
                    for mount in service.get("configs", [])
                }
                files = {
                    target: config["content"].replace("$$", "$")
                    for target, config in mounted.items()
                }
                yield Use(f"{node.name} of {profile}", repository(node.image), node, service, files)


def published_repositories() -> set[str]:
    """Every repository that the catalog names."""
    images = stacks.LIBRARY.catalog.images.values()
    own = {
        series.published for image in images for series in image.series.values() if series.published
    }
    return own | {name for image in images for name in image.repositories}


def test_every_published_image_has_a_contract_and_no_other_has() -> None:
    assert set(CONTRACTS) == published_repositories()


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_it_sets_only_variables_that_the_image_reads(name: str) -> None:
    for use in uses(name):
        given = {
            variable
            for variable in use.service.get("environment", {})
            if not variable.startswith("SANDBOX_")
        }
        unknown = given - set(use.contract.environment) - set(use.contract.ignored)
        assert not unknown, f"{use.where}: {sorted(unknown)}"


@pytest.mark.parametrize("name", stacks.databases())
def test_the_root_password_reaches_the_server_by_a_variable_that_it_reads(name: str) -> None:
    for use in uses(name):
        if use.node.kind == "database":
            given = use.service["environment"]
            read = {
                key: given[key]
                for key in given
                if "ROOT_PASSWORD" in key and key not in use.contract.ignored
            }
            assert "/sandbox/root-password" in read.values(), use.where


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_it_mounts_only_where_the_image_reads(name: str) -> None:
    for use in uses(name):
        places = ("/sandbox", *use.contract.paths)
        lost = [
            target
            for target in use.files
            if not any(f"{target}/".startswith(f"{place}/") for place in places)
        ]
        assert lost == [], f"{use.where}: the image reads no {lost}"


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_ports_are_the_images_or_configured(name: str) -> None:
    for use in uses(name):
        configured = " ".join(
            [
                *use.files.values(),
                str(use.service.get("command")),
                str(use.service.get("entrypoint")),
            ]
        )
        for port in use.node.ports.values():
            assert port in use.contract.ports or re.search(rf"\b{port}\b", configured), (
                f"{use.where}: {port}"
            )


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_secret_files_are_readable_by_the_images_user(name: str) -> None:
    for use in uses(name):
        secret = any(each in text for text in use.files.values() for each in stacks.SECRETS)
        if secret and use.contract.user and use.service.get("user") is None:
            assert use.node.user == use.contract.user, use.where


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_the_engine_can_give_it_its_files(name: str) -> None:
    """A mounted file with an owner: the engine looks the container's user up on its host, which
    knows few names.
    """
    for use in uses(name):
        owned = any("uid" in mount for mount in use.service.get("configs", []))
        started_as = use.service.get("user", use.contract.starts_as)
        assert not owned or started_as in (
            None,
            "root",
            "nobody",
            "0",
        ), f"{use.where} starts as {started_as}"
        if image_user(use.node):
            assert image_user(use.node) == use.contract.starts_as, use.where


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_every_volume_of_the_image_has_a_name(name: str) -> None:
    for use in uses(name):
        covered = {entry.partition(":")[2] for entry in use.service.get("volumes", [])} | set(
            use.service.get("tmpfs", [])
        )
        assert set(use.contract.volumes) <= covered, (
            f"{use.where}: {set(use.contract.volumes) - covered} would be anonymous"
        )
        added = {
            target
            for target in covered - set(use.contract.volumes)
            if not target.startswith("/sandbox/")
        }
        assert added <= {
            "/tmp",
            "/run",
            "/var/run",
        }, f"{use.where}: {added} is no volume of the image"


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_it_starts_the_image_by_an_entrypoint_that_exists(name: str) -> None:
    for use in uses(name):
        assert use.entrypoint[0] in use.contract.entrypoints, use.where
        named = {
            word
            for text in use.scripts
            for word in _ENTRYPOINT.findall(text)
            if not word.startswith("/sandbox/")
        }
        assert named <= set(use.contract.entrypoints), f"{use.where}: {sorted(named)}"


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_scripts_call_only_programs_that_the_image_has(name: str) -> None:
    for use in uses(name):
        called = {word for text in use.scripts for word in _COMMAND.findall(text)} & KNOWN_PROGRAMS
        missing = called - use.contract.callable_programs
        assert not missing, f"{use.where}: {sorted(missing)}"

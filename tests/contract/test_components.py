"""Every folder of compose/: its block, its files, and every stack it can be part of."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from contract import stacks
from sandbox.profile.grammar import parse
from sandbox.profile.library import Component

FORBIDDEN = {
    "ports",
    "privileged",
    "container_name",
    "network_mode",
    "pid",
    "ipc",
    "ulimits",
    "extends",
    "env_file",
    "build",
}
"""Keys that no service may have: they would publish, fix a name, or reach out of the stack."""


def raw(name: str) -> dict[str, Any]:
    """A fragment as it is written, before it inherits anything."""
    text = (stacks.CHECKOUT / "compose" / name / "compose.yaml").read_text()
    fragment: dict[str, Any] = yaml.safe_load(text)
    return fragment


def every_service(name: str) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """(profile, node, service, Compose file) of every service in every stack with a component."""
    for profile in stacks.profiles_with(name):
        composed = stacks.document(profile)
        for node, service in composed["services"].items():
            yield profile, node, service, composed


def test_every_folder_is_a_component() -> None:
    folders = [
        path
        for path in (stacks.CHECKOUT / "compose").iterdir()
        if path.is_dir() and any(path.iterdir())
    ]
    assert sorted(folder.name for folder in folders) == stacks.COMPONENTS


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_name_is_a_term(name: str) -> None:
    (term,) = parse(name)
    assert (term.name, term.count, term.version) == (name, None, None)


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_block_says_what_it_is(name: str) -> None:
    spec = stacks.component(name).spec
    assert spec.help and "\n" not in spec.help and len(spec.help) <= 110
    if spec.kind == "external":
        return
    for profile in stacks.profiles_with(name):
        for node in stacks.plan(profile).nodes:
            auxiliary = node.service != node.component.name
            assert auxiliary or (node.ready and (node.ready.query or node.ready.command)), (
                f"{node.name} of {profile}"
            )
            if node.is_server:
                server = node.component.spec
                assert server.role and server.config_dir and node.user and server.ports, (
                    f"{node.name} of {profile}"
                )
    if spec.kind == "proxy":
        assert spec.ports, "an entry point needs a port"


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_services_are_itself_and_its_auxiliary_ones(name: str) -> None:
    component = stacks.component(name)
    own = set() if component.spec.kind in ("external", "replica") else {name}
    assert set(component.services) - {"replica"} == own | set(component.spec.auxiliary)


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_a_service_of_another_component_comes_with_the_files_of_that_one(name: str) -> None:
    """A config, or a file, of the same name in its own folder would take their place."""
    component = stacks.component(name)
    for service, auxiliary in component.spec.auxiliary.items():
        if auxiliary.taken_from:
            lender = stacks.component(auxiliary.taken_from)
            assert component.services[service] == lender.services[service]
            for source in (entry["source"] for entry in component.services[service]["configs"]):
                assert component.configs[source] == lender.configs[source], source
                file = component.configs[source]["file"]
                assert component.files[file] == lender.files[file], file


def used_files(component: Component) -> set[str]:
    """Files that the configs of a component name; a template name stands for all it can become."""
    return {entry["file"] for entry in component.configs.values() if "file" in entry}


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_every_file_of_its_folder_is_used(name: str) -> None:
    present = {path.name for path in (stacks.CHECKOUT / "compose" / name).iterdir()} - {
        "compose.yaml"
    }
    named = {entry["file"] for entry in raw(name).get("configs", {}).values() if "file" in entry}
    literal = {file for file in named if "{" not in file}
    assert literal <= {*present, *stacks.component(name).files}
    if literal == named:
        renewal = {stacks.component(name).spec.credential_rotation or ""}
        assert present <= used_files(stacks.component(name)) | renewal


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_no_service_leaves_the_stack(name: str) -> None:
    for profile, node, service, composed in every_service(name):
        where = f"{node} of {profile}"
        assert not FORBIDDEN & set(service), where
        assert service["restart"] == "no", where
        assert service["image"], where
        outside = ["outside"] if "external" in profile and node == "client1" else []
        assert service["networks"] == ["stack", *outside], where
        assert composed["networks"]["stack"]["internal"] is True


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_every_service_has_a_healthcheck(name: str) -> None:
    for profile, node, service, _ in every_service(name):
        assert service.get("healthcheck", {}).get("test"), f"{node} of {profile}"


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_every_volume_is_named_declared_and_labelled(name: str) -> None:
    for profile, node, service, composed in every_service(name):
        for entry in service.get("volumes", []):
            volume, _, target = entry.partition(":")
            assert volume in composed["volumes"], f"{entry} of {node} in {profile}"
            assert target.startswith("/"), f"{entry} of {node} in {profile}"
    for profile in stacks.profiles_with(name):
        for volume in stacks.document(profile)["volumes"].values():
            assert volume["labels"]["sandbox.stack"] == "${COMPOSE_PROJECT_NAME}"


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_every_mounted_file_exists_and_has_a_place_of_its_own(name: str) -> None:
    for profile, node, service, composed in every_service(name):
        targets = Counter(mount["target"] for mount in service.get("configs", []))
        assert [target for target, times in targets.items() if times > 1] == [], (
            f"{node} of {profile}"
        )
        assert {mount["source"] for mount in service.get("configs", [])} <= set(
            composed["configs"]
        ), f"{node} of {profile}"


def exposed_parts(service: dict[str, Any]) -> str:
    """What `docker inspect` and the process list show of a service."""
    return str({key: value for key, value in service.items() if key != "configs"})


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_no_password_can_be_seen_from_outside_a_container(name: str) -> None:
    for profile, node, service, _ in every_service(name):
        shown = exposed_parts(service)
        assert [secret for secret in stacks.SECRETS if secret in shown] == [], (
            f"{node} of {profile}"
        )


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_a_file_with_a_password_is_for_its_reader_alone(name: str) -> None:
    for profile, node, service, composed in every_service(name):
        planned = stacks.plan(profile).node(node)
        for mount in service.get("configs", []):
            content = composed["configs"][mount["source"]]["content"]
            if not any(secret in content for secret in stacks.SECRETS):
                continue
            where = f"{mount['target']} on {node} of {profile}"
            assert mount["mode"] == 0o400, where
            assert (str(mount.get("uid", "0")), str(mount.get("gid", "0"))) == (
                planned.uid,
                planned.gid,
            ), where


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_passwords_reach_nothing_but_files(name: str) -> None:
    for profile in stacks.profiles_with(name):
        composed = stacks.document(profile)
        outside_of_files = {
            key: value for key, value in composed.items() if key not in ("configs",)
        }
        assert not any(secret in str(outside_of_files) for secret in stacks.SECRETS), profile


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_generated_scripts_are_shell(name: str) -> None:
    profile = next(iter(stacks.profiles_with(name)))
    for config, entry in stacks.document(profile)["configs"].items():
        content = entry["content"].replace("$$", "$")
        shell = {"#!/bin/sh": "sh", "#!/bin/bash": "bash", "#!/usr/bin/env bash": "bash"}.get(
            content.split("\n")[0]
        )
        if shell:
            done = subprocess.run(
                [shell, "-n"], input=content, text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, f"{config} of {profile}: {done.stderr}"


@pytest.mark.parametrize("name", stacks.COMPONENTS)
def test_its_structured_files_can_be_read(name: str) -> None:
    for profile in stacks.profiles_with(name):
        for config, entry in stacks.document(profile)["configs"].items():
            content = entry["content"].replace("$$", "$")
            if config.endswith(".json"):
                json.loads(content)
            elif config.endswith((".yml", ".yaml")):
                yaml.safe_load(content)


def test_components_can_be_attached_to_something() -> None:
    alone = [
        name for name in stacks.COMPONENTS if next(iter(stacks.profiles_with(name)), None) is None
    ]
    assert alone == []

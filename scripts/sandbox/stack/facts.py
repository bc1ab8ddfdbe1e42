"""What the engine reports about itself and its images: for records, `doctor` and the checks before a start."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.stack.engine import Docker, Pending
from sandbox.stack.protocol import Engine


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """An image as the engine knows it: its id, the digest of a published one, the package version of a built one."""

    image_id: str | None = None
    digest: str | None = None
    package_version: str | None = None


def engine_info(docker: Docker) -> dict[str, Any]:
    """`docker info` as data. Raises SandboxError (exit 4) where the engine does not answer."""
    return read_info(begin_info(docker).output())


def begin_info(docker: Docker) -> Pending:
    """Requests the input of `read_info`; the client takes 0.1 s for it, so this starts early."""
    return docker.begin("info", "--format", "{{json .}}")


def read_info(text: str) -> dict[str, Any]:
    """The output of `docker info --format {{json .}}` as data."""
    return dict(json.loads(text))


def engine_facts(docker: Docker) -> Engine:
    """The engine and the machine where containers run."""
    info = engine_info(docker)
    return Engine(
        version=info["ServerVersion"], operating_system=info["OperatingSystem"], kernel=info["KernelVersion"],
        architecture=info["Architecture"], cgroup_version=str(info.get("CgroupVersion") or "1"),
        storage_driver=info["Driver"], cpus=info["NCPU"], memory_bytes=info["MemTotal"],
    )  # fmt: skip


def image_facts(docker: Docker, container_ids: Sequence[str]) -> dict[str, ImageFacts]:
    """Container id → facts of its image, in two calls; a container that has disappeared is left out."""
    inspected = _inspected(docker, "container", container_ids)
    images = {
        image["Id"]: _facts(image)
        for image in _inspected(docker, "image", sorted({item["Image"] for item in inspected}))
    }
    return {item["Id"]: images[item["Image"]] for item in inspected if item["Image"] in images}


def _inspected(docker: Docker, kind: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Those of ``names`` that exist; the client reports the others on its error output."""
    return list(json.loads(docker.answer(kind, "inspect", *names).stdout or "[]")) if names else []


def _facts(image: Mapping[str, Any]) -> ImageFacts:
    digests = image.get("RepoDigests") or []
    labels = (image.get("Config") or {}).get("Labels") or {}
    digest = digests[0].partition("@")[2] if digests else None
    return ImageFacts(image["Id"], digest, labels.get("sandbox.package-version"))

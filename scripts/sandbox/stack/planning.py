"""The plan of a profile on this machine: with the images that its engine has, and variables that
their servers know.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sandbox.core.errors import SandboxError
from sandbox.profile.data_directory import base_plans, base_requests
from sandbox.profile.images import Availability
from sandbox.profile.library import Library
from sandbox.profile.own_files import server_files
from sandbox.profile.plan import Node, Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library, load_lock
from sandbox.profile.variables import Names, defaults_in, names_in, refuse_mistyped
from sandbox.stack.binaries import refuse_other_processor
from sandbox.stack.engine import Docker
from sandbox.stack.images import engine_availability, image_id
from sandbox.stack.inventory import helper_options
from sandbox.stack.locks import cache_folder
from sandbox.stack.naming import identity
from sandbox.stack.own_images import asker, refuse_stray_volumes

_PATIENCE_S = 30.0
"""Time that a server may take to list its variables."""


def planned(
    request: PlanRequest,
    library: Library | None = None,
    docker: Docker | None = None,
    available: Availability | None = None,
) -> Plan:
    """The plan of a request on this machine, for every command: the engine is asked what images it
    has, unless that is known from just now (``available``).

    Raises SandboxError: exit 2 for a request that no machine can plan, even without an engine, and
    for a variable that a server here does not know; else exit 4.
    """
    known = library or load_library()
    engine = docker or Docker()
    try:
        available = available or available_here(engine, known)
    except SandboxError:
        # A typing error is reported first.
        make_plan(request, known, Availability(lock=load_lock()))
        raise
    made = make_plan(request, known, available)
    refuse_other_processor(request.binaries, engine)
    refuse_stray_volumes(made, engine)
    refuse_unknown_variables(made, engine)
    return made


def available_here(docker: Docker, library: Library) -> Availability:
    """The engine's images; the user's own are asked what is in them."""
    available = engine_availability(load_lock(), docker, library.catalog)
    return replace(available, ask=asker(docker, library.catalog))


def refuse_unknown_variables(plan: Plan, docker: Docker) -> None:
    """Raises UnknownVariableError (exit 2) for a variable of SET= or CNF= that a server does not
    know.

    Of an image that is not here nothing is known: whoever brings it asks again, before a server
    starts.
    """
    concerned = [
        node for node in plan.databases if node.assignments or server_files(plan.request, node)
    ]
    if concerned:
        refuse_mistyped(plan, known_variables(concerned, docker))


def known_variables(nodes: Iterable[Node], docker: Docker) -> dict[str, Names]:
    """Variables by image reference; without missing images, or those whose server does not answer.

    Asked once per image, then kept in the user's cache, a file per image.
    """
    servers = {node.image: node.component.spec.server for node in nodes}
    found = {image: _of_image(image, server, docker) for image, server in servers.items()}
    return {image: names for image, names in found.items() if names}


def _of_image(image: str, server: str, docker: Docker) -> Names:
    known = image_id(docker, image)
    if not known:
        return frozenset()
    kept = cache_folder() / "variables" / f"{known.removeprefix('sha256:')}.txt"
    if kept.is_file():
        return frozenset(kept.read_text(encoding="utf-8").split())
    names = _asked(image, server, docker)
    if names:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
    return names


def option_defaults(profile: str, docker: Docker) -> Mapping[str, str | None] | None:
    """The options of the first server of a profile with their defaults, as its program lists them.

    None where there is no engine, or its image is not on it, or the profile cannot be planned.
    """
    library = load_library()
    try:
        made = make_plan(PlanRequest(profile), library, available_here(docker, library))
    except SandboxError:
        return None
    server = made.databases[0]
    if server.choice.source != "local":
        return None
    return defaults_in(_help_of(server.image, server.component.spec.server, docker)) or None


def _asked(image: str, server: str, docker: Docker) -> Names:
    return names_in(_help_of(image, server, docker))


def _help_of(image: str, server: str, docker: Docker) -> str:
    """Empty where it takes too long: names are then unchecked, as for a missing image."""
    labels = helper_options(identity("variables"))
    run = ("run", "--rm", "--network", "none", *labels, "--entrypoint", server, image)
    answer = docker.begin(*run, "--no-defaults", "--verbose", "--help").answer_within(_PATIENCE_S)
    return answer.stdout if answer.code == 0 else ""


def planned_base_directories(plan: Plan, library: Library | None = None) -> Mapping[str, Plan]:
    """Server → plan of the base data directory that it can start from; empty unless every server
    has one.
    """
    known = library or load_library()
    return base_plans(base_requests(plan, known), known, available_here(Docker(), known))


def offline_plan(
    request: PlanRequest, registry: bool = False, library: Library | None = None
) -> Plan:
    """The plan as the catalog alone gives it, for machines without an engine.

    ``registry``: for an engine that reaches its registry, and has no image yet.
    """
    available = Availability(registry=lambda: registry, lock=load_lock())
    return make_plan(request, library or load_library(), available)

"""The plan of a profile on this machine: with the images that its engine has, and variables that their servers know."""

from collections.abc import Iterable, Mapping

from sandbox.errors import SandboxError
from sandbox.library import load_library, load_lock
from sandbox.plan.data_directory import base_plans, base_requests
from sandbox.plan.images import Availability
from sandbox.plan.library import Library
from sandbox.plan.model import Node, Plan, PlanRequest
from sandbox.plan.planner import make_plan
from sandbox.plan.variables import Names, names_in, refuse_mistyped
from sandbox.stack.engine import Docker
from sandbox.stack.images import engine_availability, image_id
from sandbox.stack.inventory import helper_options
from sandbox.stack.locks import cache_folder
from sandbox.stack.naming import identity

_PATIENCE_S = 30.0
"""How long a server may take to list its variables."""


def planned(request: PlanRequest, library: Library | None = None) -> Plan:
    """The plan of a request on this machine: the engine is asked what images it has.

    Raises SandboxError: exit 2 for a request that no machine can plan, even without an engine; else exit 4.
    """
    known = library or load_library()
    try:
        available = engine_availability(load_lock())
    except SandboxError:
        make_plan(request, known, Availability(lock=load_lock()))  # a typing error is reported first
        raise
    made = make_plan(request, known, available)
    if made.request.assignments:
        assigned = [node for node in made.databases if node.assignments]
        refuse_mistyped(made, known_variables(assigned, Docker()))
    return made


def known_variables(nodes: Iterable[Node], docker: Docker) -> dict[str, Names]:
    """Variables by image reference; without missing images, or those whose server does not answer.

    Asked once per image, then kept in the user's cache, a file per image.
    """
    here = {node.image: node.component.spec.server for node in nodes if node.choice.source == "local"}
    found = {image: _of_image(image, server, docker) for image, server in here.items()}
    return {image: names for image, names in found.items() if names}


def _of_image(image: str, server: str, docker: Docker) -> Names:
    known = image_id(docker, image)
    if not known:
        return _asked(image, server, docker)
    kept = cache_folder() / "variables" / f"{known.removeprefix('sha256:')}.txt"
    if kept.is_file():
        return frozenset(kept.read_text(encoding="utf-8").split())
    names = _asked(image, server, docker)
    if names:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
    return names


def _asked(image: str, server: str, docker: Docker) -> Names:
    """Empty where it takes too long: names are then unchecked, as for a missing image."""
    labels = helper_options(identity("variables"))
    run = ("run", "--rm", "--network", "none", *labels, "--entrypoint", server, image)
    answer = docker.begin(*run, "--no-defaults", "--verbose", "--help").answer_within(_PATIENCE_S)
    return names_in(answer.stdout) if answer.code == 0 else frozenset()


def planned_base_directories(plan: Plan) -> Mapping[str, Plan]:
    """Server → plan of the base data directory that it can start from; empty unless every server has one."""
    library = load_library()
    return base_plans(base_requests(plan, library), library, engine_availability(load_lock()))


def offline_plan(request: PlanRequest) -> Plan:
    """The plan as the catalog alone gives it, for machines without an engine."""
    return make_plan(request, load_library(), Availability(lock=load_lock()))

"""plan, config, profiles: everything that can be said before anything starts."""

import gzip
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.library import load_library, load_lock
from sandbox.plan.basis import basis_plans, basis_requests
from sandbox.plan.images import Availability
from sandbox.plan.library import Library
from sandbox.plan.model import Plan, PlanRequest, UserFile
from sandbox.plan.planner import make_plan

EXAMPLES = ("mysql@9.7+replica2", "galera3+haproxy", "gr3@9.7+router")


def read_user_file(path: str | None, variable: str) -> UserFile | None:
    """A file given as ``CNF=`` or ``INIT=``, unpacked where its name ends in .gz.

    Raises SandboxError (exit 2) where it cannot be read as text.
    """
    if not path:
        return None
    try:
        raw = Path(path).read_bytes()
        content = (gzip.decompress(raw) if path.endswith(".gz") else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        raise SandboxError(f"{variable}={path} cannot be read", str(problem), f"try: ls -l {path}") from problem
    return UserFile(Path(path).name, content, hashlib.sha256(raw).hexdigest())


def need_profile(profile: str | None) -> str:
    """The profile, or three examples where none was given."""
    if profile:
        return profile
    raise SandboxError(
        "no PROFILE was given",
        f"examples: {', '.join(EXAMPLES)}",
        f"try: make up PROFILE={EXAMPLES[1]}   (make profiles lists every term)",
    )


def planned(request: PlanRequest, library: Library | None = None) -> Plan:
    """The plan of a request on this machine: the engine is asked what images it has.

    Raises SandboxError: exit 2 for what cannot be planned on any machine, also where no engine answers; else exit 4.
    """
    from sandbox.stack.images import engine_availability

    known = library or load_library()
    try:
        available = engine_availability(load_lock())
    except SandboxError:
        make_plan(request, known, Availability(lock=load_lock()))  # what is mistyped is told first
        raise
    made = make_plan(request, known, available)
    if made.request.assignments:
        _refuse_mistyped_variables(made)
    return made


def _refuse_mistyped_variables(plan: Plan) -> None:
    from sandbox.plan.variable_names import refuse_mistyped
    from sandbox.stack.engine import Docker
    from sandbox.stack.server_variables import known_variables

    assigned = [node for node in plan.databases if node.assignments]
    refuse_mistyped(plan, known_variables(assigned, Docker()))


def planned_bases(plan: Plan) -> Mapping[str, Plan]:
    """Server → plan of the basis that its data directory can begin from; empty where not all of them have one."""
    from sandbox.stack.images import engine_availability

    library = load_library()
    return basis_plans(basis_requests(plan, library), library, engine_availability(load_lock()))


def offline_plan(request: PlanRequest) -> Plan:
    """The plan as the catalog alone gives it, for machines without an engine."""
    return make_plan(request, load_library(), Availability(lock=load_lock()))


def plan(request: PlanRequest, as_json: bool) -> None:
    """Prints what a profile would start."""
    from sandbox.report.plan_view import plan_data, plan_lines

    made = planned(request)
    if as_json:
        print(json.dumps(plan_data(made), indent=2))
    else:
        print("\n".join(plan_lines(made)))


def config(request: PlanRequest, name: str) -> None:
    """Prints the one Compose file, with freshly drawn passwords."""
    from sandbox.plan.compose import compose_document, compose_text
    from sandbox.stack.naming import identity
    from sandbox.stack.secrets import draw_secrets

    made = planned(request)
    for node in made.unavailable():
        print(f"note: {node.choice.reference} is neither here nor within reach", file=sys.stderr)
        break
    sys.stdout.write(compose_text(compose_document(made, draw_secrets(made), identity(name))))


def profiles(as_json: bool) -> None:
    """Prints every term with its line of help."""
    from sandbox.report.plan_view import profile_data, profile_lines

    library = load_library()
    print(json.dumps(profile_data(library), indent=2) if as_json else "\n".join(profile_lines(library)))


def check_limits(cpus: str | None, memory: str | None, cpuset: str | None = None) -> None:
    """Refuses a ``CPUS=``, ``MEMORY=`` or ``cpuset`` that no engine would take."""
    import re

    if cpus is not None and not re.fullmatch(r"\d+(\.\d+)?", cpus):
        raise SandboxError(f"CPUS={cpus} is not a number of processors", "such as 1 or 0.5", "try: CPUS=1")
    if cpus is not None and float(cpus) <= 0:
        raise SandboxError(f"CPUS={cpus} leaves a server no processor", "such as 1 or 0.5", "try: CPUS=0.5")
    if memory is not None and not re.fullmatch(r"\d+[kmgKMG]?[bB]?", memory):
        raise SandboxError(f"MEMORY={memory} is not an amount of memory", "such as 512m or 2g", "try: MEMORY=1g")
    if cpuset is not None and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", cpuset):
        raise SandboxError(f"cpuset: '{cpuset}' is no list of processors", "such as 0 or 0-1,3", "try: cpuset: 0-1")

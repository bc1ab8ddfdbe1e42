"""PURE: steps.sh, which carries a repro out, and of functions.sh what it needs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from sandbox.core.yaml_lines import Place
from sandbox.profile.plan import Node, Plan
from sandbox.record.repro import Side
from sandbox.repro.definition import Repro
from sandbox.repro.expectation import Expectation
from sandbox.repro.pack.expectations import ExpectationLines, reads_log
from sandbox.repro.pack.forming import formed
from sandbox.repro.pack.hosts import Hosts, is_alone
from sandbox.repro.pack.quoting import statements_apart, word
from sandbox.repro.pack.refusal import Unpackable, UnpackableError, UnsayableError
from sandbox.repro.pack.steps import StepLines
from sandbox.repro.steps.restart import RestartStep

FUNCTIONS = files(__package__).joinpath("functions.sh").read_text(encoding="utf-8")
_NAME = re.compile(r"^(\w+)\(\) \{", re.MULTILINE)
_CALLED = r"(?:^|[|&;({{!]|\b(?:then|do|else|until|if|while)\b)\s*{}\b(?!=)"


@dataclass(frozen=True)
class Script:
    """The two files of the service ``repro``."""

    steps: str
    functions: str


def script_of(repro: Repro, hosts: Hosts, dump: str | None) -> Script:
    """The script of a repro; ``dump``: the text of its ``load.file``.

    Raises UnpackableError for steps and expectations that it cannot have.
    """
    problems: list[Unpackable] = []
    steps = _steps(repro, hosts, problems)
    expectations, looks = _expectations(repro, hosts, problems)
    if problems:
        raise UnpackableError(problems)
    asks_states = "expect_state" in looks or restarts(repro) or _form(hosts.plan)
    sections = [
        *_servers(hosts, asks_states, repeats(repro) > 1),
        *_data(repro, hosts, dump),
        "# The steps: number, session, SQL; what a step without a name must come to.",
        *(["mark_logs"] if reads_logs(repro) else []),
        *steps,
        "",
        "# What is seen where the bug is, and where it is not.",
        *expectations,
        "verdict",
        "",
    ]
    text = "\n".join(sections)
    if asks_states:
        looks |= {f"state_of_{hosts.kind(node)}" for node in hosts.plan.databases}
    return Script(text, functions_for(text, looks))


def restarts(repro: Repro) -> bool:
    """Whether a step stops a server and starts it again."""
    return any(isinstance(step, RestartStep) for step in repro.steps)


def repeats(repro: Repro) -> int:
    """How often it is tried on the same servers; ``fresh`` wants new ones."""
    return 1 if repro.fresh else repro.repeat


def all_expectations(repro: Repro) -> list[tuple[Side, int, Expectation]]:
    """Every expectation with its side and its position there."""
    return [
        *(("bug", number, each) for number, each in enumerate(repro.expect.bug)),
        *(("fixed", number, each) for number, each in enumerate(repro.expect.fixed)),
    ]


def reads_logs(repro: Repro) -> bool:
    """Whether an expectation looks at what a server has logged."""
    return any(reads_log(each) for _, _, each in all_expectations(repro))


def _steps(repro: Repro, hosts: Hosts, problems: list[Unpackable]) -> list[str]:
    lines = StepLines(hosts)
    found = []
    for number, step in enumerate(repro.steps, 1):
        try:
            found.append(lines.line(number, step))
        except UnsayableError as problem:
            place: Place = ("steps", number - 1)
            problems.append(Unpackable(place, f"step {number} ({step.text})", str(problem)))
    return found


def _expectations(
    repro: Repro, hosts: Hosts, problems: list[Unpackable]
) -> tuple[list[str], set[str]]:
    """The lines, and the functions that look."""
    lines = ExpectationLines(hosts)
    found = []
    looks = set()
    for side, number, each in all_expectations(repro):
        try:
            line, function = lines.line(side, each)
        except UnsayableError as problem:
            place: Place = ("expect", side, number)
            problems.append(Unpackable(place, f"expect.{side} ({each.text})", str(problem)))
            continue
        found.append(line)
        looks.add(function)
    return found, looks


def _servers(hosts: Hosts, asks_states: bool, is_repeated: bool) -> list[str]:
    """What the servers are, how they become what they are, and that they are."""
    plan = hosts.plan
    lines = [f"client=({_client(hosts)} --defaults-file=/client.cnf)"]
    lines += [f"servers=({' '.join(hosts.names)})", ". /functions.sh", ""]
    lines.append("# The servers, and how the state of each is found.")
    for node in plan.databases:
        how = f" {hosts.kind(node)} {word(hosts.detail(node))}" if asks_states else ""
        lines.append(f"server {node.name}{how}")
    form = formed(hosts)
    if form and is_repeated:
        form = ["if ((${RUN:-1} == 1)); then", *form, "fi"]
    lines += form
    if _form(plan):
        lines.append(f"until_ready {' '.join(hosts.names)}")
    return [*lines, ""]


def _form(plan: Plan) -> bool:
    """Whether its servers become more than servers alone."""
    return not all(is_alone(group) for group in plan.groups)


def _client(hosts: Hosts) -> str:
    writer: Node = hosts.plan.node(hosts.writer)
    return writer.component.spec.sql_client


def _data(repro: Repro, hosts: Hosts, dump: str | None) -> list[str]:
    load, writer = repro.load, hosts.writer
    lines = ["# The data."]
    for name in _alone_or_first(hosts.plan):
        schema = "drop database if exists repro; create database repro"
        lines.append(f"setup {name} <<<'{schema}'")
    if dump:
        lines.append(f"data {writer} </dump.sql")
    if load.sql:
        lines += [f"data {writer} <<'SQL'", statements_apart(load.sql.strip()), "SQL"]
    for table, rows in load.rows.items():
        lines.append(f"generate {writer} {word(table)} {rows.count} {word(rows.values)}")
    first = hosts.plan.groups[0]
    followers = first.replicas if first.topology == "single" else first.servers[1:]
    if followers:
        names = " ".join(node.name for node in followers)
        lines.append(f"everywhere {writer} {names}")
    return [*lines, ""]


def _alone_or_first(plan: Plan) -> list[str]:
    """The servers that get their data from no other one."""
    found = []
    for group in plan.groups:
        found += group.database_names if group.topology == "single" else [group.first]
    return found


def functions_for(steps: str, also: Iterable[str] = ()) -> str:
    """The part of functions.sh that a script needs.

    ``also``: functions that are called by a name that is put together.
    """
    blocks = FUNCTIONS.strip().split("\n\n")
    bodies = {name[1]: block for block in blocks if (name := _NAME.search(block))}
    needed = _reached(steps, bodies, also)
    kept = [block for block in blocks if not (name := _NAME.search(block)) or name[1] in needed]
    return "\n\n".join(_without_empty_sections(kept)) + "\n"


def _reached(steps: str, bodies: Mapping[str, str], also: Iterable[str]) -> set[str]:
    calls = {name: re.compile(_CALLED.format(name), re.MULTILINE) for name in bodies}
    needed: set[str] = set()
    waiting = [name for name in bodies if calls[name].search(steps)]
    waiting += [name for name in also if name in bodies]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        body = _NAME.sub("", bodies[name])
        waiting += [each for each, call in calls.items() if call.search(body)]
    return needed


def _without_empty_sections(blocks: Sequence[str]) -> list[str]:
    """Without headings below which nothing is left."""
    following = [*blocks[1:], "# -- the end"]
    return [
        block
        for block, after in zip(blocks, following, strict=True)
        if not (block.startswith("# -- ") and after.startswith("# -- "))
    ]

"""A smoke benchmark: a matrix of base and head, run until its gate is content, twice if it looks
worse.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.calibration import Calibration, noise_of
from sandbox.judge.gate import BLOCKS, Look
from sandbox.judge.matrix import judge_matrix
from sandbox.matrix.cell import Change
from sandbox.matrix.definition import Matrix
from sandbox.matrix.resolve import resolve
from sandbox.matrix.resolved import ResolvedMatrix
from sandbox.matrix.result_folder import known_noise, learn_from, note_noise, part_of
from sandbox.matrix.selection import Selection, select
from sandbox.measure.run import LARGEST_SEED
from sandbox.record.record import Record, Status
from sandbox.record.store import ResultFolder
from sandbox.stack.engine import Docker
from sandbox.stack.images import image_override
from sandbox.stack.supply import refuse_unavailable

BASE = "base"
HEAD = "head"
SMOKE_METRICS = ("server_cpu_ms_per_tx", "tps", "latency_p95_ms")
"""The first two decide.

The third is never steady on a shared machine in five seconds (docs/statistics.md, rule 12).
"""
SECONDS = 5
WARM_UP_S = 1
TABLES = 4
LOG_LINES = 20

Run = Callable[[ResolvedMatrix], ResultFolder]


def smoke_selection(base: Change, head: Change, load: Change) -> Selection:
    """Slices of base, head and canary, each on its own stack, even if the sides are the same."""
    matrix = Matrix(
        name="smoke",
        title="Smoke benchmark",
        question="Is the head worse than the base?",
        common=load,
        factors={
            "variant": {
                BASE: base.model_copy(update={"apart": BASE}),
                HEAD: head.model_copy(update={"apart": HEAD}),
            }
        },
        baseline={"variant": BASE},
        metrics=list(SMOKE_METRICS),
        depth="slices",
        warmup=WARM_UP_S,
        seconds=SECONDS,
        blocks=BLOCKS,
    )
    return select(matrix)


def asked(side: Change) -> str:
    """A side in the user's words."""
    given = {
        "IMAGE": " ".join(side.image or ()),
        "SET": " ".join(side.set),
        "CPUS": side.cpus,
        "MEMORY": side.memory,
    }
    words = [f"`{side.profile}`"]
    words += [f"`{name}={value}`" for name, value in given.items() if value]
    return " ".join(words)


def run_looks(
    sides: Mapping[str, Change],
    load: Change,
    seed: int | None,
    run: Run,
    note: Callable[[str], None],
) -> list[ResultFolder]:
    """One look, and if that is worse, a repetition: new stacks, another seed.

    ``run``: runs a resolved matrix; ``note``: shows a line. Raises SandboxError: exit 2 for invalid
    options, exit 4 for a missing image or a failure of the environment.
    """
    with _with_images(sides) as given:
        selection = smoke_selection(given[BASE], given[HEAD], load)
        resolved = resolve(selection, seed=seed, afresh=True, gate=_blocks_to_add)
        _refuse_unable(resolved)
        first = _look(resolved, run)
        if judged_look(first).state != "suspected":
            return [first]
        note("looks worse; a fresh repetition on new stacks decides")
        other_seed = seed and seed % LARGEST_SEED + 1
        return [first, _look(replace(resolved, seed=other_seed), run)]


@contextmanager
def _with_images(sides: Mapping[str, Change]) -> Iterator[dict[str, Change]]:
    """The sides with the identities of their images, which stay on the engine until the end."""
    docker = Docker()
    given = dict(sides)
    with ExitStack() as here:
        for name, side in sides.items():
            if side.image:
                (word,) = side.image
                override = image_override(word, f"{name.upper()}_IMAGE", docker)
                image = here.enter_context(override)
                given[name] = side.model_copy(update={"image": [image]})
        yield given


def _refuse_unable(resolved: ResolvedMatrix) -> None:
    """Refuses what cannot work before anything starts."""
    docker = Docker()
    for stack in resolved.stacks.values():
        if stack.plan is not None:
            refuse_unavailable(stack.plan, docker)


def _look(resolved: ResolvedMatrix, run: Run) -> ResultFolder:
    try:
        result = run(resolved)
    except SandboxError as error:
        if error.exit_code is not ExitCode.INTERRUPTED:
            raise
        known = (
            "every run that ended is saved, every stack is removed; an interrupted gate cannot be"
            " resumed"
        )
        step = "try: the same command again"
        raise SandboxError(error.what, known, step, ExitCode.INTERRUPTED) from None
    # As known before this look: its own canary counts from the next one on.
    note_noise(result, known_noise(result))
    learn_from(result)
    return result


def _blocks_to_add(result: ResultFolder) -> int:
    """The gate of a look, asked while the stacks are up."""
    note_noise(result, known_noise(result))
    return judged_look(result).blocks_to_add


def judged_look(result: ResultFolder) -> Look:
    """The result of one look, judged by the noise that it has noted."""
    part = part_of(result)
    records = result.records()
    judged = None
    if any(record.counts for record in records):
        noise = noise_of(part, records, Calibration())
        judged = judge_matrix(part, records, result.series, noise)
    lost = _first_reason(records, "infra_error")
    failed = _first_reason(records, "failed")
    return Look(judged, part.blocks, lost, failed)


def _first_reason(records: Sequence[Record], status: Status) -> str | None:
    """The first run with this status, and its reason."""
    for record in records:
        if record.status == status:
            return f"{record.cell}: {record.reason}"
    return None


def log_of_lost(result: ResultFolder) -> list[str]:
    """The end of the log of the node that failed in the first run lost to the environment.

    Of the first node if none is named; empty where no run was lost.
    """
    lost = [record for record in result.records() if record.status == "infra_error"]
    return _log_tail(result, lost[0]) if lost else []


def _log_tail(result: ResultFolder, record: Record) -> list[str]:
    logs = {
        word.removeprefix("log_"): file
        for word, file in record.files.items()
        if file.startswith("logs/")
    }
    named = [file for node, file in logs.items() if node in (record.reason or "")]
    files = named or list(logs.values())
    if not files:
        return []
    path = result.run_path(record) / files[0]
    return path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]

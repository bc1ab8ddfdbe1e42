"""The gate as a command: what it refuses, when it looks twice, what it prints and with which code
it ends.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from sandbox.cli.command_options import options_of, variable_of
from sandbox.cli.commands import smoke
from sandbox.cli.common import matrices
from sandbox.cli.main import app
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import CHECKOUT
from sandbox.judge.calibration import kind_of_canary
from sandbox.matrix import resolve
from sandbox.matrix import smoke as smoke_matrix
from sandbox.matrix.cell import Change
from sandbox.matrix.resolved import ResolvedMatrix
from sandbox.matrix.result_folder import part_of
from sandbox.measure.machine import change_calibration, read_calibration
from sandbox.record.manifest import Manifest
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from unit.profile.small_library import plan
from unit.report.smoke_samples import BLOCKS, look, records

NONE = Change()
IDENTITY = "sha256:" + "a" * 64


def options(workload: str = "oltp_read_only", **changed: Any) -> dict[str, Any]:
    """The options of a comparison of one profile with itself."""
    load = Change(workload=workload, threads=2, rows=1000, tables=smoke_matrix.TABLES)
    return {
        "profile": "mysql",
        "base": NONE,
        "head": NONE,
        "load": load,
        "seed": None,
        "as_json": False,
        **changed,
    }


def side(**given: Any) -> Change:
    """The options of one side."""
    return NONE.model_copy(update=given)


class Host:
    """Stands for the engine: every look gives the records that a test laid ready."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ready: list[Sequence[Record]] = []
        self.seeds: list[int | None] = []
        self.matrices: list[ResolvedMatrix] = []
        self.images: list[str] = []
        self.added: list[int] = []
        """Blocks that the gate asked for."""

    def run(self, resolved: ResolvedMatrix) -> ResultFolder:
        """A look, and what the gate adds to it."""
        blocks, gate = resolved.blocks, resolved.gate
        assert (blocks, resolved.afresh) == (BLOCKS, True) and gate
        self.matrices.append(resolved)
        self.seeds.append(resolved.seed)
        sample = look()
        manifest = Manifest(
            kind="matrix", slug="smoke", profile="mysql", command=["sandbox", "smoke"],
            started_utc=sample.records[0].started_utc, matrix=sample.part,
        )  # fmt: skip
        result = ResultFolder.create(self.folder, manifest)
        self._save(result, self.ready.pop(0))
        if more := gate(result):
            self.added.append(more)
            result.note(blocks=blocks + more)
            self._save(result, self.ready.pop(0))
        result.finish(sample.records[0].started_utc)
        return result

    def _save(self, result: ResultFolder, records: Sequence[Record]) -> None:
        for record in records:
            folder = result.start_run(record.cell, record.block)
            if record.status == "infra_error":
                (folder / "mysql1.log").write_text("")
                (folder / "logs").mkdir()
                (folder / "logs" / "mysql1.log").write_text(
                    "\n".join(f"line {number}" for number in range(30))
                )
            result.save(record, frozenset())

    @contextmanager
    def given(self, word: str, variable: str, _: Any) -> Iterator[str]:
        """An image by its identity."""
        self.images.append(f"{variable}={word}")
        yield IDENTITY
        self.images.append(f"end of {variable}")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host whose looks are what a test wants them to be; its profiles are those of the small
    library.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Host(tmp_path / "results")
    monkeypatch.setattr(matrices, "run_resolved", made.run)
    monkeypatch.setattr(smoke_matrix, "image_override", made.given)
    monkeypatch.setattr(
        resolve, "planned", lambda request: plan(request.profile, images=request.images)
    )
    monkeypatch.setattr(resolve, "engine_facts", lambda _: None)
    monkeypatch.setattr(resolve, "host_class", lambda _: "here")
    return made


def same(head: float = 1.0, seed: int = 1, **changed: Any) -> list[Record]:
    """Records of a look whose head does ``head`` times what the base does."""
    return records({"variant-base": 1, "variant-head": head, "canary": 1}, seed, **changed)


def twice(head: float, seed: int, sd: float) -> list[Sequence[Record]]:
    """The same in two parts, of eight blocks each."""
    every = same(head, seed, sd=sd, blocks=2 * BLOCKS)
    return [[each for each in every if (each.block > BLOCKS) is later] for later in (False, True)]


def crashed() -> list[Record]:
    """The head dies in the first block."""
    *good, last = [record for record in same() if record.block < 2 and record.cell != "canary"]
    reason = {
        "status": "infra_error",
        "reason": "died: mysql1",
        "files": {"log_mysql1": "logs/mysql1.log"},
    }
    return [*good, last.model_copy(update=reason)]


def test_no_difference_is_looked_at_once(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.ready = [same()]
    assert matrices.smoke(**options()) == ExitCode.OK
    printed = capsys.readouterr().out
    assert printed.startswith("## Smoke benchmark: no regression")
    (result,) = host.folder.glob("2*")
    assert (result / "smoke.md").read_text() == printed


def test_worse_is_looked_at_again_with_another_seed_and_only_then_said(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.ready = [same(0.6), same(0.6, 2)]
    assert matrices.smoke(**options(seed=7)) == ExitCode.FAILED
    assert host.seeds == [7, 8]
    printed = capsys.readouterr().out
    assert printed.startswith("## Smoke benchmark: worse")
    assert [path.read_text() for path in sorted(host.folder.glob("2*/smoke.md"))] == [
        printed,
        printed,
    ]


def test_a_suspicion_that_is_not_confirmed_is_inconclusive(host: Host) -> None:
    host.ready = [same(0.6), same()]
    assert matrices.smoke(**options()) == ExitCode.UNKNOWN
    assert host.seeds == [None, None], "each is drawn"


def test_an_inconclusive_look_goes_on_for_eight_blocks_on_the_same_stacks_and_no_further(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.ready = twice(0.97, 1, 0.05)
    assert matrices.smoke(**options()) == ExitCode.UNKNOWN
    assert host.added == [BLOCKS] and len(host.matrices) == 1
    printed = capsys.readouterr()
    assert "### First look, 16 blocks" in printed.out
    assert [line for line in printed.err.splitlines() if line.startswith("smoke  Inconclusive: ")]


def test_eight_blocks_more_can_make_it_green(host: Host) -> None:
    host.ready = twice(1, 3, 0.2)
    assert matrices.smoke(**options()) == ExitCode.OK and host.added == [BLOCKS]


def test_a_look_is_judged_by_what_was_known_before_its_own_canary_and_stays_so(host: Host) -> None:
    kind = kind_of_canary(look().part, same()) or ""
    change_calibration(
        lambda known: known.calibrated(kind, {"tps": [0.5, -0.5], "latency_p95_ms": [0.5, -0.5]})
    )
    before = read_calibration().sds(kind)
    host.ready = twice(1, 3, 0.1)
    matrices.smoke(**options())
    result = ResultFolder(next(host.folder.glob("2*")))
    assert part_of(result).calibrated == before != read_calibration().sds(kind), (
        "what it taught is for the next"
    )
    change_calibration(lambda known: known.calibrated(kind, {"tps": [1.0, -1.0]}))
    judged = matrices.smoke_look(result).look.judged
    assert judged and judged.noise["oltp_read_write", "tps"] == (
        "calibrated",
        (before or {})["tps"],
    )


def test_a_head_that_crashes_is_the_environment_with_the_end_of_its_log(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.ready = [crashed()]
    with pytest.raises(SandboxError) as caught:
        matrices.smoke(**options())
    assert (
        caught.value.exit_code is ExitCode.ENVIRONMENT
        and "variant-head: died: mysql1" in caught.value.known
    )
    printed = capsys.readouterr().out
    assert "the environment failed" in printed and "line 29\n```" in printed
    assert "line 9\n" not in printed, "twenty lines"


def test_nothing_that_ran_is_never_green(host: Host) -> None:
    host.ready = [[]]
    with pytest.raises(SandboxError) as caught:
        matrices.smoke(**options())
    assert caught.value.exit_code is ExitCode.ENVIRONMENT


def test_json_has_the_outcome(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.ready = [same()]
    matrices.smoke(**options(as_json=True))
    data = json.loads(capsys.readouterr().out)
    assert (data["outcome"], data["exit_code"], len(data["looks"])) == ("no regression", 0, 1)
    assert list(host.folder.glob("2*/smoke.md"))


def test_images_are_resolved_before_anything_starts_and_kept_to_the_end(host: Host) -> None:
    host.ready = [same(0.6), same(0.6)]
    given = options(base=side(image=["a:1"]), head=side(image=["b.tar"]))
    assert matrices.smoke(**given) == ExitCode.FAILED
    assert host.images == [
        "BASE_IMAGE=a:1",
        "HEAD_IMAGE=b.tar",
        "end of HEAD_IMAGE",
        "end of BASE_IMAGE",
    ]
    for each in host.matrices:
        assert {str(cell.change.image) for cell in each.cells.values()} == {str([IDENTITY])}


@pytest.mark.parametrize(
    ("given", "what", "code"),
    [
        (options(profile=None), "no PROFILE was given", ExitCode.BAD_INPUT),
        (options(profile="mysqll"), "unknown term 'mysqll'", ExitCode.BAD_INPUT),
        (options(head=side(cpus="many")), "CPUS=many is not a number", ExitCode.BAD_INPUT),
        (
            options(base=side(memory="much")),
            "MEMORY=much is not a valid amount",
            ExitCode.BAD_INPUT,
        ),
        (options(workload="none-such"), "there is no workload 'none-such'", ExitCode.BAD_INPUT),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(
    host: Host, given: dict[str, Any], what: str, code: ExitCode
) -> None:
    with pytest.raises(SandboxError, match=what) as refused:
        matrices.smoke(**given)
    assert refused.value.exit_code is code and not host.matrices


def test_an_interrupted_gate_begins_afresh(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise SandboxError(
            "interrupted after 3 of 27 runs", "x", "it goes on from there", ExitCode.INTERRUPTED
        )

    monkeypatch.setattr(matrices, "run_resolved", stopped)
    with pytest.raises(SandboxError) as caught:
        matrices.smoke(**options())
    assert (
        caught.value.exit_code is ExitCode.INTERRUPTED and "cannot be resumed" in caught.value.known
    )
    assert caught.value.next_step == "try: the same command again"


def test_every_option_of_a_side_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []

    def run(*given: Any) -> int:
        seen.append(given)
        return 0

    monkeypatch.setattr(smoke, "smoke", run)
    line = (
        "smoke --base mysql@9.7 --head-profile mysql@8.4 --head-image b:1 --head-cpus 0.5"
        " --base-memory 1g --threads 3"
    )
    typed = [*line.split(), "--head-set", "a=1 b=2", "--rows", "9", "--json"]
    assert CliRunner().invoke(app, typed).exit_code == 0
    ((profile, base, head, load, _, as_json),) = seen
    assert base == Change(profile="mysql@9.7", memory="1g")
    assert head == Change(profile="mysql@8.4", image=["b:1"], set=["a=1 b=2"], cpus="0.5")
    assert (load.threads, load.rows, as_json, profile) == (3, 9, True, None)


def test_both_names_of_a_sides_profile_say_the_same() -> None:
    for short, profile in (("mysql", None), (None, "mysql"), ("mysql", "mysql")):
        assert smoke.own_profile("HEAD", short, profile) == "mysql"
    with pytest.raises(
        SandboxError, match=r"HEAD=mysql and HEAD_PROFILE=mysql@8\.4 contradict"
    ) as refused:
        smoke.own_profile("HEAD", "mysql", "mysql@8.4")
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_side_is_named_in_the_users_words() -> None:
    given = side(profile="mysql", set=["a=1"], cpus="0.5", image=["b:1"])
    assert smoke_matrix.asked(given) == "`mysql` `IMAGE=b:1` `SET=a=1` `CPUS=0.5`"


def test_the_workflow_calls_it_with_options_that_it_has() -> None:
    workflow = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "smoke.yml").read_text())
    (script,) = [
        step["run"] for step in workflow["jobs"]["smoke"]["steps"] if step.get("name") == "smoke"
    ]
    used = {f"--{word}" for word in re.findall(r"--([a-z-]+)", script)}
    known = options_of("smoke")
    assert used and {variable_of(option) for option in used} <= set(known)


def test_the_workflow_comments_what_was_refused_before_anything_was_measured(
    tmp_path: Path,
) -> None:
    workflow = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "smoke.yml").read_text())
    (script,) = [
        step["run"] for step in workflow["jobs"]["smoke"]["steps"] if step.get("name") == "comment"
    ]
    (tmp_path / "gh").write_text("#!/bin/sh\ncat smoke.md\n")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "smoke.md").touch()
    (tmp_path / "smoke.err").write_text(
        "progress\nthere is no image x\nknown: y\ntry: make images\n"
    )
    path = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "GITHUB_STEP_SUMMARY": "summary",
        "NUMBER": "1",
        "GITHUB_REPOSITORY": "a/b",
    }
    caught = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        caught.stdout
        == (tmp_path / "summary").read_text()
        == "## Smoke benchmark: not carried out\n\n```text\nthere is no image x\nknown: y\ntry:"
        " make images\n```\n"
    )

"""Matrices on real servers: killed and resumed, and a verdict that is right where the truth is
known.
"""

import json
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from integration.live import CHECKOUT, SANDBOX, leftovers, run_statuses, sandbox
from integration.turns import of_today
from sandbox.stack.naming import project_name

pytestmark = pytest.mark.docker

TWO_BY_TWO = """\
title: Two servers by two numbers of threads
question: Which server does more?
common: {workload: oltp_point_select, tables: 1, rows: 1000}
factors:
  server: {mysql: {profile: mysql@9.7}, mariadb: {profile: mariadb@11.8}}
  threads: [1, 4]
baseline: {server: mysql}
warmup: 0
seconds: 1
blocks: 2
"""

HANDICAP = """\
title: One variant like the baseline, and one with a part of a processor
question: Is a part of a processor worse, and the same not?
common: {profile: mysql@9.7, workload: oltp_point_select, tables: 1, rows: 1000, threads: 4}
factors:
  processors: {all: {}, again: {apart: again}, part: {cpus: PART}}
baseline: {processors: all}
warmup: 1
seconds: 2
blocks: 8
metrics: [tps]
"""


MORTAL = """\
title: Two variants, of which one loses its server
question: What becomes of the rest?
common: {profile: mysql@9.7, workload: oltp_point_select, tables: 1, rows: 1000}
factors:
  commits: {relaxed: {add: relaxed}, durable: {add: durable}}
baseline: {commits: relaxed}
warmup: 0
seconds: 2
blocks: 3
metrics: [tps]
"""


RESTARTED = """\
title: Two variants, each started anew for every block
question: Do they begin with the same data?
common: {profile: mysql@9.7, workload: oltp_write_only, tables: 2, rows: 2000, threads: 2}
factors:
  commits: {relaxed: {add: relaxed}, durable: {add: durable}}
baseline: {commits: relaxed}
depth: restart
warmup: 0
seconds: 1
blocks: 1
metrics: [tps]
"""


def write(folder: Path, text: str) -> str:
    """A matrix file, of a name of its own: its result is found by it."""
    path = folder / f"m{uuid.uuid4().hex[:8]}.yaml"
    path.write_text(text)
    return str(path)


def result_of(file: str) -> Path | None:
    """The result of a matrix, as soon as it has a manifest."""
    manifests = (CHECKOUT / "results").glob(f"2*-matrix-{Path(file).stem}/manifest.json")
    return next((manifest.parent for manifest in manifests), None)


def test_a_killed_matrix_goes_on_where_it_stopped(tmp_path: Path) -> None:
    file = write(tmp_path, TWO_BY_TWO)
    command = [str(SANDBOX), "matrix", "--matrix", file]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=CHECKOUT
    ) as process:
        deadline = time.monotonic() + 180
        while not ((result := result_of(file)) and len(run_statuses(result)) >= 3):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    before = run_statuses(result)
    done = sandbox("matrix", "--matrix", file)
    after = run_statuses(result)
    assert len(after) == 2 * 5 and set(after.values()) == {"ok"}
    assert before.items() <= after.items()
    assert result.name in done.stdout and "mariadb" in done.stdout
    page = (result / "report.html").read_text()
    assert (
        page.count('/record.json"') == page.count('/samples.jsonl"') == 10
        and (result / "summary.md").is_file()
    )
    for wanted in (
        "server mariadb against server mysql",
        "values that nobody set",
        "Handler_read_key",
        "Threads_running",
    ):
        assert wanted in page
    key = json.loads((result / "manifest.json").read_text())["matrix"]["key"][:6]
    for variant in ("variant1", "variant2", "canary"):
        assert not leftovers(f"sandbox.stack={project_name(f'matrix-{key}-{variant}')}")


@pytest.mark.long
def test_a_killed_server_is_no_result_leaves_its_log_and_the_matrix_goes_on(tmp_path: Path) -> None:
    file = write(tmp_path, MORTAL)
    command = [str(SANDBOX), "matrix", "--matrix", file]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=CHECKOUT
    ) as process:
        deadline = time.monotonic() + 180
        while not ((result := result_of(file)) and run_statuses(result)):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        key = json.loads((result / "manifest.json").read_text())["matrix"]["key"][:6]
        server = f"{project_name(f'matrix-{key}-variant2')}-mysql1-1"
        subprocess.run(["docker", "kill", server], check=True, capture_output=True)
        process.communicate(timeout=180)
    assert process.returncode == 0
    after = run_statuses(result)
    lost = [run for run, status in after.items() if status != "ok"]
    assert len(after) == 3 * 3 and len(lost) == 1, after
    assert lost[0].startswith("commits-durable.") and after[lost[0]] == "infra_error"
    record = json.loads((result / "runs" / lost[0] / "record.json").read_text())
    assert "mysql1: exited (137)" in record["reason"]
    assert (
        "ready for connections"
        in (result / "runs" / lost[0] / record["files"]["log_mysql1"]).read_text()
    )
    assert after[f"commits-durable.{int(lost[0][-1]) + 1}"] == "ok", "its variant was started anew"


def verdicts(file: str) -> dict[str, Any]:
    """The verdicts of a matrix, run to its end."""
    return dict(json.loads(sandbox("matrix", "--matrix", file, "--json").stdout))


# Half a processor can only be distinguished from noise on a machine that does nothing else.
@pytest.mark.long
@pytest.mark.parametrize(
    "part", of_today(["0.25", pytest.param("0.5", marks=pytest.mark.alone)], days=2)
)
def test_a_real_handicap_is_worse_and_the_same_is_not(tmp_path: Path, part: str) -> None:
    found = verdicts(write(tmp_path, HANDICAP.replace("PART", part)))
    again, handicapped = found["verdicts"]
    assert (again["cell"], handicapped["cell"]) == ("processors-again", "processors-part")
    assert handicapped["verdict"] == "worse", found
    assert handicapped["interval_95"][1] < -0.2
    assert all(each["verdict"] not in ("better", "worse") for each in [again, *found["canary"]]), (
        found
    )


@pytest.mark.long
def test_every_stack_is_given_the_same_data_at_both_depths(tmp_path: Path) -> None:
    # A size that no earlier run on this machine has made and kept.
    restarted = RESTARTED.replace("rows: 2000", f"rows: {random.randrange(1000, 9000)}")
    for text, made in ((restarted, 1), (restarted.replace("depth: restart", "depth: slices"), 0)):
        file = write(tmp_path, text)
        message = sandbox("matrix", "--matrix", file).stderr
        assert message.count("made once, kept, restored for every stack") == made
        assert message.count("from a snapshot of") == 3
        result = result_of(file)
        assert result is not None
        runs = run_statuses(result)
        assert set(runs.values()) == {"ok"} and len(runs) == 3
        records = [json.loads((result / "runs" / run / "record.json").read_text()) for run in runs]
        assert all(record["workload"]["preparation"]["reused"] for record in records)
        assert not leftovers("sandbox.stack=" + project_name(f"matrix-{key_of(result)}-data"))


def key_of(result: Path) -> str:
    """What the names of a matrix's stacks begin with."""
    return str(json.loads((result / "manifest.json").read_text())["matrix"]["key"][:6])

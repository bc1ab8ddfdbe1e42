"""Repeated trials on real servers: a record each, a stack that is reset, what ends a series."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from integration.live import CHECKOUT, LiveStack, live_stack, newest_result, sandbox

pytestmark = [pytest.mark.docker, pytest.mark.own_stack, pytest.mark.long]
SANDBOX = CHECKOUT / ".venv" / "bin" / "sandbox"


def series(stack: LiveStack, *words: str, codes: set[int]) -> tuple[dict[str, Any], Path]:
    """The manifest of a series, and its folder. Beside other tests a prober may be late, code 4."""
    done = sandbox("trial", "--name", stack.name, "--rate", "20", *words, check=False)
    assert done.returncode in codes, done.stderr
    result = newest_result("trial", of=stack.name)
    return json.loads((result / "manifest.json").read_text()), result


def records(result: Path) -> list[dict[str, Any]]:
    """Every record of a series, in order."""
    paths = sorted(result.glob("runs/trial.*/record.json"))
    return [json.loads(path.read_text()) for path in paths]


def test_a_node_joins_again_and_again_beside_writers_that_survive_it() -> None:
    words = ["--fault", "join", "--target", "galera3", "--workload", "writers", "--threads", "4"]
    words += ["--load-options", "placement=all ledger=on", "--repeat", "2"]
    with live_stack("galera3") as stack:
        manifest, result = series(stack, *words, codes={0, 4})
    assert manifest["repeats"]["end"] == "complete" and len(manifest["runs"]) == 2
    for record in records(result):
        verdicts = {each["name"]: each["verdict"] for each in record["checks"]}
        assert verdicts["writers_lost"] == verdicts["writers_duplicate"] == "pass"
        assert record["trial"]["lost_members"] == {} and record["trial"]["load_starts"] == 1


def test_a_series_ends_with_a_line_of_a_log_and_restores_its_stack() -> None:
    until = ("--until", "log:[Cc]rash recovery")
    with live_stack("mysql@9.7") as stack:
        first = stack.containers()
        words = ("--fault", "server-crash", "--repeat", "3", "--fresh")
        manifest, result = series(stack, *words, *until, codes={1})
        assert manifest["repeats"]["end"] == "came" and len(manifest["runs"]) == 1
        assert {each for _, each in stack.containers().values()}.isdisjoint(
            each for _, each in first.values()
        )
    (record,) = records(result)
    assert "rash recovery" in record["trial"]["log_lines"]["[Cc]rash recovery"]["mysql1"]


def test_ctrl_c_keeps_the_finished_trials() -> None:
    with live_stack("mysql@9.7") as stack:
        argv = [str(SANDBOX), "trial", "--name", stack.name, "--fault", "server-crash"]
        with subprocess.Popen(
            [*argv, "--repeat", "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as running:
            assert running.stderr and running.stdout
            for line in running.stderr:
                if "trial 2 of 5" in line:
                    break
            time.sleep(12)
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=120)
        assert running.returncode == 130 and "2 of 5 trials  interrupted" in out
        assert stack.role("mysql1") == "writer", "it is healed"

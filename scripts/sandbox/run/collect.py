"""Saves the files next to the record, however the run ended: series, logs, fingerprint; passwords are masked."""

import csv
from collections.abc import Callable
from dataclasses import asdict, fields

from sandbox.errors import SandboxError
from sandbox.results.record import CheckRecord, Environment
from sandbox.results.redaction import mask
from sandbox.run.fingerprint import take_fingerprint
from sandbox.run.state import Run
from sandbox.workloads.common.model import Second


def collect(run: Run) -> None:
    """Saves everything available; each part that cannot be saved becomes a check that says so."""
    _attempt(run, "series_saved", _save_series)
    _attempt(run, "logs_saved", _save_logs)
    _attempt(run, "environment_known", _know_environment)
    _drop_unwritten(run)
    _mask_files(run)


def _attempt(run: Run, name: str, job: Callable[[Run], None]) -> None:
    try:
        job(run)
    except (SandboxError, TimeoutError, OSError) as error:
        run.checks.append(CheckRecord(name=name, verdict="unknown", detail=f"{type(error).__name__}: {error}"))


def _save_series(run: Run) -> None:
    with run.keep("series", "seconds.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Second)])
        writer.writeheader()
        writer.writerows(asdict(second) for second in run.series)


def _save_logs(run: Run) -> None:
    for node in run.nodes:
        if node.has_container and node.kind != "client":
            text = mask(run.stack.log(node.name), run.secrets)
            run.keep(f"log_{node.name}", f"logs/{node.name}.log").write_text(text, encoding="utf-8")


def _know_environment(run: Run) -> None:
    if run.environment == Environment():
        run.environment = take_fingerprint(run.stack, run.session.client, run.live_servers, run.before)
    run.environment = run.environment.model_copy(update={"during": run.host_load})


def _drop_unwritten(run: Run) -> None:
    """A step may have registered a file that it never wrote, or that stayed empty."""
    for word, name in list(run.files.items()):
        path = run.folder / name
        if not path.exists() or not path.stat().st_size:
            path.unlink(missing_ok=True)
            del run.files[word]


def _mask_files(run: Run) -> None:
    for name in run.files.values():
        path = run.folder / name
        text = path.read_text(encoding="utf-8", errors="replace")
        masked = mask(text, run.secrets)
        if masked != text:
            path.write_text(masked, encoding="utf-8")

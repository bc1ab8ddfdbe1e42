"""The command line: every command with its options; what they do stands in `commands/`."""

import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sandbox.cli_errors import as_told
from sandbox.cli_results import results
from sandbox.commands.smoke_options import smoke
from sandbox.errors import ExitCode, SandboxError

# Pydantic would read the metadata of every installed package, to find plug-ins that there are none of.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

if TYPE_CHECKING:
    from sandbox.plan.model import PlanRequest

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Sandbox matrix for MySQL-family servers: disposable stacks, measured honestly.",
)

Profile = Annotated[str | None, typer.Option(help="Profile expression, such as galera3+haproxy.")]
Name = Annotated[str | None, typer.Option(help="Name of the stack (the only one, else 'default').")]
NameOfUp = Annotated[str | None, typer.Option("--name", help="Name of the stack ('default').")]
NameOfPs = Annotated[str | None, typer.Option("--name", help="Name of the stack (all of them).")]
Node = Annotated[str | None, typer.Option(help="Node, such as galera1.")]
SetValue = Annotated[list[str] | None, typer.Option("--set", help="Server variables: \"a=1 replica:b='x y'\".")]
Cnf = Annotated[str | None, typer.Option(help="Configuration file that every server reads last.")]
Init = Annotated[str | None, typer.Option(help="SQL file (.sql, .sql.gz) run once on the writer when ready.")]
Cpus = Annotated[str | None, typer.Option(help="Processors for each database node, such as 0.5.")]
Memory = Annotated[str | None, typer.Option(help="Memory for each database node, such as 1g.")]
External = Annotated[str | None, typer.Option(help="mysql://user@host:3306/db for the term 'external'.")]
Via = Annotated[str | None, typer.Option(help="Node, term, node:port, writer or reader.")]
Timeout = Annotated[int | None, typer.Option(min=1, help="Seconds to wait for readiness.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _request(
    profile: str | None,
    assignments: list[str] | None,
    cnf: str | None,
    init: str | None,
    cpus: str | None,
    memory: str | None,
    external: str | None,
) -> "PlanRequest":
    from sandbox.commands.planning import need_profile
    from sandbox.library import read_user_file
    from sandbox.plan.apply import check_limits
    from sandbox.plan.model import PlanRequest

    check_limits(cpus, memory)
    return PlanRequest(
        need_profile(profile),
        tuple(assignments or ()),
        read_user_file(cnf, "CNF"),
        read_user_file(init, "INIT"),
        cpus,
        memory,
        external,
    )


@app.command()
def plan(
    profile: Profile = None,
    set_: SetValue = None,
    cnf: Cnf = None,
    init: Init = None,
    cpus: Cpus = None,
    memory: Memory = None,
    external: External = None,
    json: Json = False,
) -> None:
    """Print nodes, versions, images, wiring, settings and memory of a profile."""
    from sandbox.commands import planning

    planning.plan(_request(profile, set_, cnf, init, cpus, memory, external), json)


@app.command()
def config(
    profile: Profile = None,
    name: NameOfUp = None,
    set_: SetValue = None,
    cnf: Cnf = None,
    init: Init = None,
    cpus: Cpus = None,
    memory: Memory = None,
    external: External = None,
) -> None:
    """Print the one Compose file of a profile."""
    from sandbox.commands import planning

    planning.config(_request(profile, set_, cnf, init, cpus, memory, external), name or "default")


@app.command()
def profiles(json: Json = False) -> None:
    """List every term with one line of help."""
    from sandbox.commands import planning

    planning.profiles(json)


@app.command()
def up(
    profile: Profile = None,
    name: NameOfUp = None,
    set_: SetValue = None,
    cnf: Cnf = None,
    init: Init = None,
    cpus: Cpus = None,
    memory: Memory = None,
    external: External = None,
    publish: Annotated[bool, typer.Option("--publish", help="Publish on 127.0.0.1, free ports.")] = False,
    timeout: Timeout = None,
    cold: Annotated[bool, typer.Option("--cold", help="Start from nothing, not from a snapshot.")] = False,
    snapshots: Annotated[int, typer.Option(min=0, max=1, help="0: neither restore nor keep a snapshot (1).")] = 1,
    json: Json = False,
) -> None:
    """Start a stack and wait until it is ready."""
    from sandbox.commands import life

    request = _request(profile, set_, cnf, init, cpus, memory, external)
    life.up(request, name or "default", publish, timeout, json, life.SnapshotOptions(snapshots == 1, cold))


@app.command()
def ps(name: NameOfPs = None, json: Json = False) -> None:
    """Show every stack with its nodes, roles and ports."""
    from sandbox.commands import life

    life.ps(name, json)


@app.command()
def sql(name: Name = None, node: Node = None, via: Via = None) -> None:
    """Open a SQL client on a node or the entry point; reads statements from a pipe."""
    from sandbox.commands import life

    raise typer.Exit(life.sql(name, node, via))


@app.command()
def shell(name: Name = None, node: Node = None) -> None:
    """Open a shell in a node (default: the client)."""
    from sandbox.commands import life

    raise typer.Exit(life.shell(name, node))


@app.command()
def logs(
    name: Name = None,
    node: Node = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Print the log of a node, or of all."""
    from sandbox.commands import life

    life.logs(name, node, follow)


@app.command()
def restart(name: Name = None, node: Node = None, timeout: Timeout = None) -> None:
    """Restart one node and wait until the stack is ready again."""
    from sandbox.commands import life

    life.restart(name, node, timeout)


@app.command()
def stop(name: Name = None) -> None:
    """Stop a stack; its data is kept."""
    from sandbox.commands import life

    life.stop(name)


@app.command()
def start(name: Name = None, timeout: Timeout = None) -> None:
    """Start what is stopped and wait until the stack is ready."""
    from sandbox.commands import life

    life.start(name, timeout)


@app.command()
def down(name: Name = None) -> None:
    """Remove a stack: containers, networks, volumes."""
    from sandbox.commands import life

    life.down(name)


@app.command()
def clean(all_: Annotated[bool, typer.Option("--all", help="Of every checkout on this engine.")] = False) -> None:
    """Remove every stack and snapshot of this checkout."""
    from sandbox.commands import life

    life.clean(all_)


@app.command()
def snapshots(json: Json = False) -> None:
    """List the snapshots from which `up` starts in seconds."""
    from sandbox.commands import life

    life.snapshots(json)


@app.command()
def bench(
    name: Name = None,
    workload: Annotated[str, typer.Option(help="Workload, such as tpcc, or a path: .lua, .sql.")] = "oltp_read_write",
    options: Annotated[list[str] | None, typer.Option(help="Of the workload: 'warehouses=2 items=1000'.")] = None,
    threads: Annotated[int | None, typer.Option(help="Client threads (8).")] = None,
    seconds: Annotated[int | None, typer.Option(help="Measured seconds (30).")] = None,
    warmup: Annotated[int | None, typer.Option(help="Seconds of warm-up, discarded (5).")] = None,
    tables: Annotated[int | None, typer.Option(help="Tables (4).")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of each table (100000).")] = None,
    dist: Annotated[str | None, typer.Option(help="Distribution of keys (uniform).")] = None,
    rate: Annotated[int | None, typer.Option(help="Transactions a second (as fast as it goes).")] = None,
    via: Via = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the load (drawn).")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema on an external server (that of EXTERNAL).")] = None,
    json: Json = False,
) -> None:
    """Measure a stack once; leaves a record in results/."""
    from sandbox.commands import measure

    given = {
        "threads": threads,
        "seconds": seconds,
        "warmup_s": warmup,
        "tables": tables,
        "rows_per_table": rows,
        "distribution": dist,
        "rate_per_s": rate,
    }
    asked = measure.BenchOptions(workload, options or [], given, via, seed, json, schema)
    raise typer.Exit(measure.run_bench(name, asked))


@app.command()
def matrix(
    matrix: Annotated[str | None, typer.Option(help="Matrix, such as quick, or a path.")] = None,
    seconds: Annotated[int | None, typer.Option(help="Measured seconds of a run.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Seconds before each run, discarded.")] = None,
    blocks: Annotated[int | None, typer.Option(help="Blocks (what one lone difference takes).")] = None,
    only: Annotated[str | None, typer.Option(help="Levels to run: 'threads=1,64 rewriter=on'.")] = None,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of order and load (drawn).")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show cells, time and power; run nothing.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Begin afresh instead of going on.")] = False,
    json: Json = False,
) -> None:
    """Run a matrix of factors and say which differences are real."""
    from sandbox.commands import matrix as matrices

    options = matrices.MatrixOptions(matrix, seconds, warmup, blocks, only, seed, plan, new, json)
    raise typer.Exit(matrices.run(options))


@app.command()
def report(
    result: Annotated[str | None, typer.Option(help="Result: its folder or name (latest).")] = None,
    charts: Annotated[bool, typer.Option("--charts", help="Write charts/*.svg and *.png too.")] = False,
) -> None:
    """Write report.html and summary.md of a result."""
    from sandbox.commands import report as reports

    raise typer.Exit(reports.run(result, charts))


@app.command()
def calibrate(
    profile: Profile = "mysql@9.7",
    workload: Annotated[str, typer.Option(help="Workload (oltp_read_only, as in smoke).")] = "oltp_read_only",
    threads: Annotated[int, typer.Option(min=1, help="Client threads (8).")] = 8,
    seconds: Annotated[int, typer.Option(min=1, help="Measured seconds of a run (5).")] = 5,
    warmup: Annotated[int, typer.Option(min=0, help="Seconds before each run, discarded (1).")] = 1,
    pairs: Annotated[int, typer.Option(min=6, help="A/A pairs (24).")] = 24,
    json: Json = False,
) -> None:
    """Measure how noisy this host is with itself; verdicts then know what counts."""
    from sandbox.commands import calibrate as calibration
    from sandbox.commands.planning import need_profile

    options = calibration.CalibrateOptions(need_profile(profile), workload, threads, seconds, warmup, pairs, json)
    raise typer.Exit(calibration.run(options))


app.command()(smoke)


@app.command()
def images(
    profile: Profile = None,
    list_: Annotated[bool, typer.Option("--list", help="Print references only.")] = False,
) -> None:
    """Build or pull what a profile needs (without one: every image that is built here)."""
    from sandbox.commands import prepare

    prepare.images(profile, list_)


@app.command()
def lock(profile: Profile = None) -> None:
    """Write images/lock.yaml: the digests and package versions of today."""
    from sandbox.commands import prepare

    prepare.lock(profile)


@app.command()
def doctor(json: Json = False) -> None:
    """Print every prerequisite with its state and the fix."""
    from sandbox.commands import prepare

    raise typer.Exit(prepare.doctor(json))


@app.command()
def perf(repetitions: Annotated[int, typer.Option(min=1, help="Alternating repetitions (5).")] = 5) -> None:
    """Measure the tool itself against plain docker run; prints JSON."""
    from sandbox.commands import perf as figures

    figures.perf(repetitions)


app.registered_commands += results.registered_commands


@app.command("help")
def show_help() -> None:
    """Print the commands, three examples on top."""
    from sandbox.commands import guide

    guide.show(app)


def main() -> None:
    """Runs a command; every failure leaves as three lines and its exit code (docs/design.md, rule 9)."""
    signal.signal(signal.SIGTERM, _interrupt)  # a runner that is ended cleans up as on Ctrl-C
    sys.exit(_run())


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _run() -> int:
    debug = bool(os.environ.get("DEBUG"))
    try:
        return int(app(prog_name="sandbox", standalone_mode=False) or ExitCode.OK)
    except SandboxError as problem:
        if debug:
            raise
        return _tell(problem)
    except KeyboardInterrupt:
        return _tell(
            SandboxError("interrupted", "what was started is told above", "try: make ps", ExitCode.INTERRUPTED)
        )
    except typer.Exit as stop:
        return stop.exit_code
    except Exception as problem:
        if debug:
            raise
        return _tell(as_told(problem))


def _tell(problem: SandboxError) -> int:
    for line in problem.lines():
        print(line, file=sys.stderr)
    return int(problem.exit_code)


if __name__ == "__main__":
    main()

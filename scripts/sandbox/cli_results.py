"""The command line's part about results: every command with its options, added to the rest in `cli.py`."""

from typing import Annotated

import typer

results = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@results.command()
def query(
    statement: Annotated[
        str | None, typer.Argument(help="SQL, such as: select cell, avg(tps) from runs group by cell")
    ] = None,
    sql: Annotated[str | None, typer.Option(help="The same as an option.")] = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Ask all results in SQL (DuckDB); without a statement, list what there is to ask."""
    from sandbox.commands import query as queries

    raise typer.Exit(queries.run(queries.QueryOptions(sql or statement, json, csv)))


@results.command()
def compare(
    a: Annotated[
        str | None, typer.Option("--a", help="Result: a name in results/, a part of one, latest, a path.")
    ] = None,
    b: Annotated[str | None, typer.Option("--b", help="The result that is compared with A.")] = None,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 for worse, 3 for what cannot be judged.")] = False,
    json: Json = False,
) -> None:
    """Compare two results of different times, commits or machines, without pairs."""
    from sandbox.commands import compare as comparison

    raise typer.Exit(comparison.run(comparison.CompareOptions(a, b, gate, json)))


@results.command()
def history(
    matrix: Annotated[str | None, typer.Option(help="Of this matrix (of the newest result).")] = None,
    profile: Annotated[str | None, typer.Option(help="Of benches of this profile.")] = None,
    workload: Annotated[str | None, typer.Option(help="Of benches with this workload.")] = None,
    metric: Annotated[str | None, typer.Option(help="Metrics, such as tps,latency_p99_ms (the primary ones).")] = None,
    only: Annotated[str | None, typer.Option(help="Levels to show: 'threads=1,64'.")] = None,
    json: Json = False,
) -> None:
    """Show one matrix or bench over time, and where it changed for good."""
    from sandbox.commands import history as past

    raise typer.Exit(past.run(past.HistoryOptions(matrix, profile, workload, metric, only, json)))


@results.command()
def export(
    format_: Annotated[
        str | None, typer.Option("--format", help="csv, parquet, benchstat or github-action-benchmark.")
    ] = None,
    result: Annotated[str | None, typer.Option(help="Result (latest), or all.")] = None,
    metric: Annotated[str | None, typer.Option(help="Metrics of github-action-benchmark (the first primary).")] = None,
    out: Annotated[str | None, typer.Option(help="File to write (standard output).")] = None,
) -> None:
    """Hand results to other tools: csv, parquet, benchstat, github-action-benchmark."""
    from sandbox.commands import export as exports

    raise typer.Exit(exports.run(exports.ExportOptions(format_, result, metric, out)))

"""PURE: the data a load works on, in words: its tables and rows where it uses them, the workload's options."""

from sandbox.results.record import WorkloadRecord


def tables_text(load: WorkloadRecord) -> str:
    """``4 tables of 25,000 rows``; empty for a workload that defines its own tables."""
    if load.tables is None:
        return ""
    rows = f" of {load.rows_per_table:,} rows" if load.rows_per_table is not None else ""
    return f"{load.tables} {'table' if load.tables == 1 else 'tables'}{rows}"


def options_text(load: WorkloadRecord) -> str:
    """``items=1000 warehouses=2``; empty for a workload without options."""
    return " ".join(f"{name}={value}" for name, value in sorted(load.options.items()))

"""The beginning of every sysbench command: which script, on which server, as whom. Pure."""

from sandbox.stack.protocol import EntryPoint
from sandbox.workloads.common.model import OptionValue


def sysbench_argv(script: str, entry: EntryPoint) -> list[str]:
    """``script``: a name that sysbench knows, or a path in the client node. The password is in its option file."""
    return [
        *("sysbench", "--config-file=/sandbox/sysbench.cnf", script, "--db-driver=mysql"),
        *(f"--mysql-host={entry.host}", f"--mysql-port={entry.port}"),
        *(f"--mysql-user={entry.user}", f"--mysql-db={entry.schema}"),
    ]


def as_option(name: str, value: OptionValue) -> str:
    """An option as sysbench takes it: ``range_size`` is ``--range-size``, a boolean on or off."""
    text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    return f"--{name.replace('_', '-')}={text}"

"""Zipf's distribution for sysbench 1.0, which has none: a wrapper script that starts with `zipfian.lua`."""

from collections.abc import Mapping
from importlib.resources import files

ZIPFIAN = "zipfian"
SCRIPT = "zipfian_load.lua"


def around(script: str, distribution: str) -> Mapping[str, str]:
    """Files (path → text) whose SCRIPT runs a script, by name or path in the client node, on Zipf-distributed keys.

    No files for a distribution that sysbench draws itself.
    """
    if distribution != ZIPFIAN:
        return {}
    call = "dofile" if script.endswith(".lua") else "require"
    draw = files(__package__).joinpath("zipfian.lua").read_text(encoding="utf-8")
    return {SCRIPT: f'{draw}{call}("{script}")\n'}


def rand_type(distribution: str) -> str:
    """The distribution that sysbench draws by; where we draw the keys, it only supplies uniform numbers."""
    return "uniform" if distribution == ZIPFIAN else distribution

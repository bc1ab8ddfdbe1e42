"""Zipf's distribution for sysbench 1.0, which has none: a script around the script, with `zipfian.lua` before it."""

from collections.abc import Mapping
from importlib.resources import files

ZIPFIAN = "zipfian"
SCRIPT = "zipfian_load.lua"


def around(script: str, distribution: str) -> Mapping[str, str]:
    """Files (path → text) whose SCRIPT runs a script, by name or path in the client node, on keys by Zipf's law.

    No file for a distribution that sysbench draws by itself.
    """
    if distribution != ZIPFIAN:
        return {}
    call = "dofile" if script.endswith(".lua") else "require"
    draw = files(__package__).joinpath("zipfian.lua").read_text(encoding="utf-8")
    return {SCRIPT: f'{draw}{call}("{script}")\n'}


def rand_type(distribution: str) -> str:
    """What sysbench is told to draw by; where the keys are ours, it is for nothing but their uniform numbers."""
    return "uniform" if distribution == ZIPFIAN else distribution

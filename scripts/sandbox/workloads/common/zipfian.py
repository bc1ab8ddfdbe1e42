"""Zipf's distribution for sysbench 1.0, which has none: a script around the script, with `zipfian.lua` before it."""

from collections.abc import Mapping
from importlib.resources import files

NAME = "zipfian"
SCRIPT = "zipfian_load.lua"


def zipfian_load(script: str) -> Mapping[str, str]:
    """Files (path → text) whose SCRIPT runs the script, by name or path in the client node, on keys of Zipf's law."""
    call = "dofile" if script.endswith(".lua") else "require"
    draw = files(__package__).joinpath("zipfian.lua").read_text(encoding="utf-8")
    return {SCRIPT: f'{draw}{call}("{script}")\n'}

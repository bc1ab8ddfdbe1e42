"""Command lines in messages as this user types them: make's in a checkout, the tool's own where it is installed."""

import re

from sandbox import registry
from sandbox.places import IN_CHECKOUT

_VARIABLE = re.compile(r"""([A-Z][A-Z0-9_]*)=((?:'[^']*'|"[^"]*"|[^\s'"])*)""")
_MAKE = re.compile(rf"\bmake ([a-z][a-z-]*)((?: +{_VARIABLE.pattern})*)")
_BOOTSTRAP = "scripts/bootstrap"
"""Of a checkout alone; `doctor` shows what it would do."""


def as_typed(text: str, in_checkout: bool = IN_CHECKOUT) -> str:
    """``make bench THREADS=8 JSON=1`` → ``sandbox bench --threads 8 --json`` in all of a text, unless in a checkout."""
    return text if in_checkout else _MAKE.sub(_own, text).replace(_BOOTSTRAP, "sandbox doctor")


def _own(found: re.Match[str]) -> str:
    command, typed = found[1], found[2]
    variables = typed.rstrip(",;)")  # the sentence's own
    if command not in registry.names():
        return found[0]
    flags, positionals = registry.options_of(command), registry.positionals_of(command)
    words, options = ["sandbox", command], []
    for name, value in _VARIABLE.findall(variables):
        option = f"--{name.lower().replace('_', '-')}"
        if name in positionals:
            words.append(value)
        else:
            options += [option] if flags.get(name) else [option, value]
    return " ".join([*words, *options]) + typed[len(variables) :]

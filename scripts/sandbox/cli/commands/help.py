"""help: three examples, then every command in groups."""

from sandbox.cli.console import as_typed
from sandbox.cli.registry import About, guides
from sandbox.core.paths import IN_CHECKOUT

ABOUT = About(group="look first", after="doctor", needs_engine=False)

_EXAMPLES = (
    ("make up PROFILE=galera3+haproxy && make bench", "a cluster behind a proxy, measured"),
    ("make up NAME=a PROFILE=mysql@9.7+replica2", "a source and two replicas, next to it"),
    ("make down NAME=a", "removed without a trace"),
)
_DEVELOPERS = {
    "lint": "linters and types, and every sample profile through docker compose config",
    "test-unit": "unit and contract tests, without Docker",
    "test": "all tests that can run here, real servers included",
    "test-long": "the same, with every recovery case on every topology",
    "perf": "this tool compared with plain docker run; prints JSON",
}


def command() -> None:
    """Print three examples and all commands."""
    for line, text in _EXAMPLES:
        print(f"  {as_typed(line):<48}{text}")
    # Of all names but the longest one: with its width some texts would not fit.
    width = 15 if IN_CHECKOUT else 18
    for group, entries in guides().items():
        print(f"\n{group}")
        for each in entries:
            print(f"  {as_typed(f'make {each.name}'):<{width}}  {each.text}")
    if not IN_CHECKOUT:
        print(
            "\nsandbox <command> --help lists its options; sandbox --install-completion completes"
            " them"
        )
        return
    print("\ndevelopers")
    for name, text in _DEVELOPERS.items():
        print(f"  make {name:<14}{text}")
    print(
        "\nvariables are options, see --help: make bench THREADS=32 is .venv/bin/sandbox bench"
        " --threads 32"
    )

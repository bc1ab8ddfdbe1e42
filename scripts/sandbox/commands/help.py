"""help: three examples, then every command in groups."""

from sandbox.registry import GROUPS, guide

HELP = ("before", 8)

_EXAMPLES = (
    ("make up PROFILE=galera3+haproxy && make bench", "a cluster behind a proxy, measured"),
    ("make up NAME=a PROFILE=mysql@9.7+replica2", "a source and two replicas, beside it"),
    ("make down NAME=a", "gone without a trace"),
)
_DEVELOPERS = {
    "lint": "ruff, mypy, shellcheck, yamllint, hadolint, every sample profile through docker compose config",
    "test-unit": "unit and contract tests, without Docker",
    "test": "all that can run here, real servers included",
    "test-long": "the same, with every recovery case on every topology",
    "perf": "this tool itself against plain docker run; prints JSON",
}


def command() -> None:
    """Print the commands, three examples on top."""
    for line, text in _EXAMPLES:
        print(f"  {line:<48}{text}")
    commands = guide()
    for group in GROUPS:
        print(f"\n{group}")
        for each in sorted((each for each in commands if each.group == group), key=lambda each: each.place):
            print(f"  make {each.name:<12}{each.text}")
    print("\ndevelopers")
    for name, text in _DEVELOPERS.items():
        print(f"  make {name:<12}{text}")
    print("\nvariables are options: make bench THREADS=32 is .venv/bin/sandbox bench --threads 32 (see its --help)")

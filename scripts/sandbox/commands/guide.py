"""help: three examples, then every command in groups."""

from typing import Any

_EXAMPLES = (
    ("make up PROFILE=galera3+haproxy && make bench", "a cluster behind a proxy, measured"),
    ("make up NAME=a PROFILE=mysql@9.7+replica2", "a source and two replicas, beside it"),
    ("make down NAME=a", "gone without a trace"),
)
_GROUPS = {
    "before": ("profiles", "plan", "config", "images", "lock", "doctor"),
    "a stack": ("up", "ps", "sql", "shell", "logs", "restart", "stop", "start", "down", "clean", "snapshots"),
    "figures": ("bench", "matrix", "smoke", "calibrate", "perf"),
    "results": ("report", "compare", "history", "query", "export"),
}
_DEVELOPERS = {
    "lint": "ruff, mypy, shellcheck, yamllint, hadolint, every sample profile through docker compose config",
    "test-unit": "unit and contract tests, without Docker",
    "test": "all that can run here, real servers included",
    "test-long": "the same, with every recovery case on every topology",
}


def show(app: Any) -> None:
    """Prints the guide; helps and options are those of the commands themselves."""
    commands = {command.name or command.callback.__name__: command.callback for command in app.registered_commands}
    for command, text in _EXAMPLES:
        print(f"  {command:<48}{text}")
    for title, names in _GROUPS.items():
        print(f"\n{title}")
        for name in names:
            print(f"  make {name:<12}{(commands[name].__doc__ or '').strip().splitlines()[0]}")
    print("\ndevelopers")
    for name, text in _DEVELOPERS.items():
        print(f"  make {name:<12}{text}")
    print("\nvariables are options: make bench THREADS=32 is .venv/bin/sandbox bench --threads 32 (see its --help)")

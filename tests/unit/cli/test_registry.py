"""Messages name commands as this user types them: make's in a checkout, `sandbox …` where the tool is installed."""

import pytest

from sandbox.cli.registry import as_typed


@pytest.mark.parametrize(
    ("text", "installed"),
    [
        ("try: make ps", "try: sandbox ps"),
        ("try: make up PROFILE=galera3+haproxy NAME=a", "try: sandbox up galera3+haproxy --name a"),
        (
            "make matrix MATRIX=quick ONLY='threads=1,16'   (or less)",
            "sandbox matrix quick --only 'threads=1,16'   (or less)",
        ),
        ("measure  make bench THREADS=8 JSON=1", "measure  sandbox bench --threads 8 --json"),
        ("make down NAME=a, or make start", "sandbox down --name a, or sandbox start"),
        ("make matrix ONLY=threads=1,16 SEED=5", "sandbox matrix --only threads=1,16 --seed 5"),
        (
            """make smoke HEAD_SET='sql_mode='"'"'ANSI'"'"'' THREADS=8 SEED=5""",
            """sandbox smoke --head-set 'sql_mode='"'"'ANSI'"'"'' --threads 8 --seed 5""",
        ),
        ("(make down NAME=a)", "(sandbox down --name a)"),
        ("try: scripts/bootstrap", "try: sandbox doctor"),
        ("try: make test-unit", "try: make test-unit"),
        ("make sure that it is there", "make sure that it is there"),
    ],
)
def test_a_make_command_becomes_the_tools_own(text: str, installed: str) -> None:
    assert as_typed(text, in_checkout=False) == installed
    assert as_typed(text, in_checkout=True) == text

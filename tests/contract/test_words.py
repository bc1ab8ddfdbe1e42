"""Words that this field does not use stay out: of code, messages, pages and profiles."""

import re

import pytest

from sandbox.core.paths import CHECKOUT

RETIRED = {
    r"arms?": "variant",
    r"told|tells?": "report, show, print, distinguish",
    r"go(?:ne|es)? on with": "resume",
    r"heeds?|heeded": "support, use",
    r"cannot be had": "unavailable",
    r"was not itself": "host check out of range",
    r"foresees?|foreseen": "estimate",
}
"""Pattern of a whole word → what is written instead."""
KEPT = {
    ("record/manifest.py", "arm"): "the key on disk",
    ("record/manifest.py", "foreseen"): "the key on disk",
    ("record/views.sql", "arm"): "the key on disk",
}
PATHS = ("README.md", "CONTRIBUTING.md", "docs/*.md", "profiles/**/*.yaml", "scripts/**/*")


@pytest.mark.parametrize("pattern", RETIRED)
def test_a_retired_word_is_not_used(pattern: str) -> None:
    found = []
    for path in sorted({path for each in PATHS for path in CHECKOUT.glob(each)}):
        if not path.is_file() or path.suffix in (".lock", ".pyc"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for word in re.findall(rf"\b(?:{pattern})\b", line, re.IGNORECASE):
                if ("/".join(path.parts[-2:]), word) not in KEPT:
                    found.append(f"{path.relative_to(CHECKOUT)}:{number}: {line.strip()}")
    assert not found, f"write: {RETIRED[pattern]}"

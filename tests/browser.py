"""A real browser for tests: the machine's own Chromium or Chrome, driven by Playwright."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

BOOTSTRAP = Path(__file__).parents[1] / "scripts" / "bootstrap"
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
_OF_MACOS = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def find_browser() -> str | None:
    """Path of a browser, the first of those that scripts/bootstrap looks for; None where there is
    none.
    """
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or (str(_OF_MACOS) if _OF_MACOS.exists() else None)


def browser_or_reason() -> tuple[str | None, str]:
    """Path of a browser, installed where that needs no question; else why there is none."""
    if found := find_browser():
        return found, ""
    done = subprocess.run([BOOTSTRAP, "browser"], capture_output=True, text=True, check=False)
    ended = done.stderr.strip().splitlines()[-3:]
    return find_browser(), " ".join(ended) or "no browser"


@contextmanager
def opened(path: str) -> Iterator[Browser]:
    """The browser, running."""
    # Its own sandbox refuses root, and needs user namespaces that a container may lack; it opens
    # files of ours only.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()

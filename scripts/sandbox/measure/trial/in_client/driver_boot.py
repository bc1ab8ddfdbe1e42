"""Runs in the container of a driver, which has none of our files: writes those of the first line of
its input (name → text, as JSON), and starts driver.py among them.
"""

import importlib
import json
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    for name, text in json.loads(sys.stdin.readline()).items():
        (folder / name).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    importlib.import_module("driver").main()

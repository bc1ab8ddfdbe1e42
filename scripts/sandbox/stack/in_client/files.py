"""Runs in the client node: writes files into a folder named after its contents. JSON in, JSON
out.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Reads ``{"folder": …, "files": {path: text}}``, prints the folder."""
    request = json.load(sys.stdin)
    folder = Path(request["folder"])
    for name, text in request["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    json.dump(str(folder), sys.stdout)


if __name__ == "__main__":
    main()

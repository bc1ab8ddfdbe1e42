"""What runs needs no package that only lint and tests bring: scripts/requirements.lock is
enough.
"""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

from sandbox.core.paths import CHECKOUT

IN_CLIENT = ("in_client", "in_helper")
"""Folders whose modules run in a container, with that container's Python."""
IMPORT_ALL = """
import importlib, importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"{{name}} is for development only")

sys.meta_path.insert(0, Refuse())
for module in {modules!r}:
    importlib.import_module(module)
"""


def locked(name: str) -> set[str]:
    """Distributions of a lock."""
    return set(
        re.findall(r"^([a-z0-9-]+)==", (CHECKOUT / "scripts" / name).read_text(), re.MULTILINE)
    )


def test_every_module_imports_without_what_tests_need() -> None:
    extra = locked("development.lock") - locked("requirements.lock")
    refused = {
        module
        for module, names in packages_distributions().items()
        if {re.sub(r"[-_.]+", "-", name).lower() for name in names} <= extra
    }
    assert {"pymysql", "pytest"} <= refused
    package = CHECKOUT / "scripts" / "sandbox"
    paths = [path.relative_to(package.parent) for path in sorted(package.rglob("*.py"))]
    modules = [
        ".".join(path.with_suffix("").parts) for path in paths if not {*IN_CLIENT} & {*path.parts}
    ]
    modules = [name for name in modules if not re.search(r"\.(__init__|in_client_\w+)$", name)]
    program = IMPORT_ALL.format(refused=refused, modules=modules)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr.strip().splitlines()[-1]

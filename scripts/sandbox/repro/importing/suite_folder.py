"""PURE: a folder of .test files: one of them has to be named."""

from typing import ClassVar

from sandbox.core.errors import natural_order
from sandbox.repro.importing.common.draft import ReproDraft
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader, refused

_SHOWN = 5


class SuiteFolder(SourceReader):
    """A repro is of one test: which are there."""

    rank: ClassVar[int] = 11
    reads: ClassVar[str] = "a folder of .test files, of which one is named"

    def recognises(self, source: ImportSource) -> bool:
        return source.text is None and bool(_tests(source))

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        del known
        tests = _tests(source)
        shown = ", ".join(tests[:_SHOWN])
        more = f" and {len(tests) - _SHOWN} more" if len(tests) > _SHOWN else ""
        why = f"it has {len(tests)} tests, and a repro is of one: {shown}{more}"
        raise refused(source, why, f"try: make import FROM={source.beside(tests[0])}")


def _tests(source: ImportSource) -> list[str]:
    """Its tests, in order; a suite has them in its folder t."""
    names = [name for name in source.names if name.endswith(".test")]
    return sorted(names, key=natural_order)

"""PURE: a folder that mydumper wrote: what a repro loads."""

from typing import ClassVar

from sandbox.repro.dump import stages_of_folder
from sandbox.repro.importing.common.draft import DraftStep, ReproDraft
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader, refused

_SIGN = "metadata"


class MydumperFolder(SourceReader):
    """The folder becomes ``load.file``."""

    rank: ClassVar[int] = 10
    reads: ClassVar[str] = "a folder that mydumper wrote"

    def recognises(self, source: ImportSource) -> bool:
        has_sign = any(name.startswith(_SIGN) for name in source.names)
        return source.text is None and has_sign and any("-schema" in n for n in source.names)

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        del known
        try:
            first, *_ = stages_of_folder([name for name in source.names if "/" not in name])
        except ValueError as problem:
            next_step = f"try: ls {source.path}"
            raise refused(source, str(problem), next_step) from problem
        schemas = sorted(file.name.partition("-schema-create")[0] for file in first)
        title = f"What happens on the data of {source.name}"
        draft = ReproDraft(title, "Is the data loaded, and what happens on it?", "mysql")
        draft.remark("profile", "A dump does not say which server it is of: say it here.")
        draft.load = {"file": source.path}
        draft.remark("steps", "What was seen on this data is not in the dump: put it here.")
        draft.steps = [
            DraftStep({"s1 @writer": f"use `{schemas[0]}`"}),
            DraftStep({"s1": "show tables", "name": "loaded"}),
        ]
        draft.bug = [{"result": "loaded", "error": "any"}]
        draft.fixed = [{"result": "loaded"}]
        return draft

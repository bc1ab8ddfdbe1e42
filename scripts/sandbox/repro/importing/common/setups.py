"""PURE: the draft of a source that describes servers and no bug: does such a server start?"""

from collections.abc import Sequence

from sandbox.profile.grammar import parse
from sandbox.repro.importing.common.draft import DraftStep, NotTaken, ReproDraft
from sandbox.repro.importing.common.servers import FAMILIES

NO_BUG = "What was seen there is not in the source: put its steps here, and what came of them."


def setup_draft(
    title: str, profile: str, settings: Sequence[str], left: Sequence[NotTaken]
) -> ReproDraft:
    """A repro of a set-up alone: whether its first server starts with these settings, and is
    well.
    """
    draft = ReproDraft(title, "Do the servers start with this configuration?", profile)
    draft.set = list(settings)
    draft.left = list(left)
    draft.remark("steps", NO_BUG)
    draft.steps = [DraftStep({"s1 @writer": "select version()", "name": "starts"})]
    draft.bug = [{"result": "starts", "error": "any"}]
    draft.fixed = [{"result": "starts"}, *({f"state @{node}": "well"} for node in _first(profile))]
    return draft


def _first(profile: str) -> list[str]:
    """The name of the profile's first server."""
    servers = [term.name for term in parse(profile) if term.name in FAMILIES]
    return [f"{servers[0]}1"] if servers else []

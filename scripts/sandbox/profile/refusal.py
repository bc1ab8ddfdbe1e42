"""Refusals of a profile, and the changes of it that may plan instead."""

from collections.abc import Callable, Sequence

from sandbox.core.errors import SandboxError

NEXT_STEP = "try: make profiles   (lists every term)"
"""The next step of a refusal of which no change plans."""

Texts = Sequence[str]
"""The terms of a profile as they are typed, left to right."""

Change = Callable[[Texts], list[str]]
"""A change of a profile: its terms → those of another one."""


class ProfileError(SandboxError):
    """A profile that cannot work (exit 2), with changes of it that may work, the nearest first.

    Its next step proposes none of them before the planner has planned it.
    """

    def __init__(
        self,
        what: str,
        known: str,
        *changes: Change,
        last_resort: Change | None = None,
        external: str | None = None,
        memory: str | None = None,
    ) -> None:
        """``last_resort``: gives up what was asked for; ``external``, ``memory``: variables that go
        with a change.
        """
        super().__init__(what, known, NEXT_STEP)
        self.changes = changes
        self.last_resort = last_resort
        self.external = external
        self.memory = memory

    def propose(self, profile: str, external: str | None, memory: str | None) -> None:
        """Makes a profile that plans the next step, with the variables that it needs."""
        self.next_step = f"try: make plan PROFILE={profile}"
        if external:
            self.next_step += f" EXTERNAL={external}"
        if memory:
            self.next_step += f" MEMORY={memory}"


def instead(of: str, *terms: str) -> Change:
    """Other terms where one stands, which may be in several groups."""

    def change(texts: Texts) -> list[str]:
        return [new for text in texts for new in (terms if text == of else (text,))]

    return change


def without(term: str) -> Change:
    """The profile without a term."""
    return instead(term)


def without_last(term: str) -> Change:
    """The profile without the last of several equal terms."""

    def change(texts: Texts) -> list[str]:
        last = len(texts) - 1 - [*reversed(texts)].index(term)
        return [text for place, text in enumerate(texts) if place != last]

    return change


def only(*terms: str) -> Change:
    """Another profile, whatever was typed."""
    return lambda _: list(terms)


def unchanged(texts: Texts) -> list[str]:
    """The same profile, with other variables."""
    return list(texts)

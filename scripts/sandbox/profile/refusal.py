"""Refusals of a profile, and the search for a change of it that plans instead."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
            self.next_step += f" MEMORY={shlex.quote(memory)}"


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


_TRIES = 40
"""Changes of a refused profile that are planned before the search gives up."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A profile with the variables that go with it."""

    profile: str
    external: str | None = None
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """The search of one planner.

    ``plan`` plans a proposal, or raises SandboxError; ``texts`` are the terms of a profile as they
    are typed.
    """

    plan: Callable[[Proposal], object]
    texts: Callable[[str], list[str]]

    def propose(self, refusal: ProfileError, refused: Proposal) -> None:
        """Makes the nearest change that plans the next step of the refusal; nothing where none
        does.

        What was asked for is given up only where no other change plans.
        """
        found = self._first(refused, refusal, set(), last_resorts=False)
        if found is None:
            found = self._first(refused, refusal, set(), last_resorts=True)
        if found:
            refusal.propose(found.profile, found.external, found.memory)

    def _first(
        self,
        refused: Proposal,
        refusal: ProfileError,
        tried: set[Proposal],
        *,
        last_resorts: bool,
    ) -> Proposal | None:
        """The nearest change that plans; where a change is refused, too, its own changes are
        next.
        """
        tried.add(refused)
        for proposal in self._proposals(refused, refusal, last_resorts):
            if len(tried) > _TRIES:
                return None
            if proposal in tried:
                continue
            try:
                self.plan(proposal)
            except ProfileError as refused_too:
                found = self._first(proposal, refused_too, tried, last_resorts=last_resorts)
                if found:
                    return found
            except SandboxError:
                continue
            else:
                return proposal
        return None

    def _proposals(
        self, refused: Proposal, refusal: ProfileError, last_resorts: bool
    ) -> Iterator[Proposal]:
        """The profiles that the changes of a refusal make of the refused one."""
        try:
            texts = self.texts(refused.profile)
        except SandboxError:  # a piece of it is no term
            texts = [piece.strip() for piece in refused.profile.split("+")]
        changes = list(refusal.changes)
        if last_resorts and refusal.last_resort:
            changes.insert(0, refusal.last_resort)
        external = refusal.external or refused.external
        memory = refusal.memory or refused.memory
        for change in changes:
            changed = change(texts)
            if changed:
                address = external if "external" in changed else None
                yield Proposal("+".join(changed), address, memory)

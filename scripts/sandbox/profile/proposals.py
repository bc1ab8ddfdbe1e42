"""The search for a change of a refused profile that plans: nothing else is proposed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox.core.errors import SandboxError
from sandbox.profile.refusal import ProfileError

_TRIES = 40
"""How many changes of a refused profile are planned until it is said that none is known."""


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
            if proposal in tried or len(tried) > _TRIES:
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

"""Words of a matrix file that there are none of, whatever they would stand beside: terms, versions, SET=."""

from sandbox.errors import SandboxError, did_you_mean
from sandbox.plan.apply import split_assignments
from sandbox.plan.grammar import NEXT_STEP, Term, parse
from sandbox.plan.library import Library


def refuse_unknown_terms(expression: str, library: Library) -> None:
    """Raises SandboxError (exit 2) for a term that there is none of, or not with this count or version.

    Whether known ones can stand together is not asked: a level may be impossible beside some levels and not others.
    """
    for term in parse(expression):
        if term.name not in library.words():
            raise SandboxError(f"unknown term '{term.text}'", did_you_mean(term.name, library.words()), NEXT_STEP)
        if term.name in library.components.names():
            _refuse_unknown_version(term, library)
        elif term.count or term.version:
            known = "only a component does; this is a setting or a named profile"
            raise SandboxError(f"'{term.text}': '{term.name}' takes no count and no version", known, NEXT_STEP)


def refuse_unknown_assignments(text: str, library: Library) -> None:
    """Raises SandboxError (exit 2) for what is no assignment, or one for a term that there is none of."""
    for term, name, _ in split_assignments((text,)):
        component = (term or "").rstrip("0123456789")
        if term and component not in library.components.names():
            known = did_you_mean(component, library.components.names())
            raise SandboxError(f"SET: '{term}:{name}' names no component", known, NEXT_STEP)


def _refuse_unknown_version(term: Term, library: Library) -> None:
    component = library.components.get(term.name)
    if term.count and not component.countable:
        raise SandboxError(f"'{term.text}': '{term.name}' takes no count", "a stack has one of it", NEXT_STEP)
    key = component.spec.image or term.name
    if term.version and key in library.catalog.images:  # a replica has the image of the group that it stands in
        library.catalog.images[key].resolve(key, term.version)

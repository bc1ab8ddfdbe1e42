"""The groups of a profile while its terms are read; what cannot stand together is refused."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NoReturn

from sandbox.core.errors import did_you_mean, nearest
from sandbox.profile.grammar import Term, parse
from sandbox.profile.library import Component, Library
from sandbox.profile.refusal import (
    Change,
    ProfileError,
    instead,
    without,
    without_last,
)


@dataclass
class Draft:
    """One group while its terms are read."""

    term: Term
    component: Component
    members: list[tuple[Term, Component]] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)
    """(setting, node or term that has it) of the settings that not all of the group has."""


def expanded_terms(terms: Iterable[Term], library: Library) -> list[Term]:
    """Named profiles replaced by the terms they stand for, aliases by the components' names."""
    expanded: list[Term] = []
    for term in terms:
        refuse_misplaced(term, library)
        named = library.named.get(term.name)
        if named and (term.count or term.version):
            what = f"the named profile '{term.name}' takes no count and no version"
            raise ProfileError(
                what, f"it stands for {named.profile}", instead(term.text, term.name)
            )
        for each in parse(named.profile) if named else [term]:
            expanded.append(_without_alias(each, library))
    return expanded


def refuse_misplaced(term: Term, library: Library) -> None:
    """Raises ProfileError for a place before anything but a setting, or one that no node has."""
    if term.place is None:
        return
    if term.name not in library.settings:
        what = f"'{term.text}': '{term.name}' is no setting, and only settings are for one node"
        known = "such as galera2:threadpool; a version stands behind an @"
        meant = f"{term.place}@{term.name}"
        if term.name in library.words():
            meant = term.text.removeprefix(f"{term.place}:")
        raise ProfileError(what, known, instead(term.text, meant))
    component = term.place.rstrip("0123456789")
    if component not in library.components.names():
        what = f"'{term.text}': '{term.place}' names no node and no term"
        known = did_you_mean(component, library.components.names())
        raise ProfileError(what, known, instead(term.text, term.name))


def _without_alias(term: Term, library: Library) -> Term:
    """The term under its component's own name."""
    if term.name in library.components.names() or term.name in library.settings:
        return term
    name = library.components.aliases().get(term.name, term.name)
    return replace(term, name=name, text=name + term.text.removeprefix(term.name))


def read_terms(terms: list[Term], library: Library) -> tuple[list[Draft], list[Term]]:
    """Groups and watching terms; refuses misplaced terms."""
    drafts: list[Draft] = []
    watchers: list[Term] = []
    names = set(library.components.names())
    for term in terms:
        if term.name in library.settings:
            _add_setting(term, drafts)
        elif term.name in names:
            _add_component(term, library, drafts, watchers)
        else:
            _refuse_unknown(term, library)
    if not drafts:
        first = terms[0].text
        known = f"'{first}' needs a database term before it"
        raise ProfileError("the profile has no database", known, _after_a_database(terms[0]))
    return drafts, watchers


def _refuse_unknown(term: Term, library: Library) -> NoReturn:
    words = library.words()
    near = nearest(term.name, words)
    changes: list[Change] = []
    if near:
        meant = replace(term, name=near).in_version(term.version)
        changes.append(instead(term.text, meant))
    raise ProfileError(f"unknown term '{term.text}'", did_you_mean(term.name, words), *changes)


def _add_setting(term: Term, drafts: list[Draft]) -> None:
    if term.count or term.version:
        known = f"'{term.name}' applies to the whole group before it"
        what = f"'{term.text}': a setting takes no count and no version"
        raise ProfileError(what, known, instead(term.text, term.name))
    group = _group_before(term, drafts)
    _refuse_repeated(term, group)
    if term.name not in group.settings:
        group.settings.append(term.name)
    if term.place:
        group.places.append((term.name, term.place))


def _refuse_repeated(term: Term, group: Draft) -> None:
    """Refuses a setting that its group, or the place that the term names, has already."""
    if term.name not in group.settings:
        return
    places = [place for name, place in group.places if name == term.name]
    if term.place and places and term.place not in places:
        return
    known = "once is enough"
    if not (term.place and places):
        known += f": it applies to the whole group of '{group.term.text}'"
    change = without_last(term.text)
    if places and not term.place:
        change = without(f"{places[0]}:{term.name}")
    what = f"the setting '{term.name}' appears twice in one group"
    raise ProfileError(what, known, change)


def _group_before(term: Term, drafts: list[Draft]) -> Draft:
    if drafts:
        return drafts[-1]
    what = f"'{term.text}' comes before any database"
    raise ProfileError(what, "it attaches to the group before it", _after_a_database(term))


def _after_a_database(term: Term) -> Change:
    """The profile with a database before a term that stands before all of them."""
    return instead(term.text, "mysql", term.text)


def _add_component(term: Term, library: Library, drafts: list[Draft], watchers: list[Term]) -> None:
    plain = library.components.get(term.name)
    if term.count and not plain.countable:
        what = f"'{term.text}': '{term.name}' takes no count"
        raise ProfileError(what, "a stack has one of it", instead(term.text, term.name))
    if plain.spec.kind == "client" and term.version:
        what = f"'{term.text}': the client takes no version"
        known = "it is what this version of the sandbox runs its loads in"
        raise ProfileError(what, known, instead(term.text, term.in_version(None)))
    if plain.spec.attaches is None:
        if plain.spec.kind == "external" and term.version:
            what = f"'{term.text}': 'external' takes no version"
            raise ProfileError(
                what, "it is the server that answers at EXTERNAL=", instead(term.text, term.name)
            )
        drafts.append(Draft(term, plain))
    elif plain.spec.attaches == "stack":
        if any(watcher.name == term.name for watcher in watchers):
            known = "it is there for the whole stack: once is enough"
            raise ProfileError(f"'{term.name}' appears twice", known, without_last(term.text))
        watchers.append(term)
    else:
        group = _group_before(term, drafts)
        _check_attachment(term, plain, group)
        group.members.append((term, library.components.get(term.name, group.component.name)))


def _check_attachment(term: Term, component: Component, group: Draft) -> None:
    base = component.spec.based_on
    name = group.component.name
    possible = component.spec.attaches_to or (sorted(base) if isinstance(base, dict) else None)
    if possible is not None and name not in possible:
        what = f"'{term.name}' cannot be attached to '{name}'"
        changes = [instead(group.term.text, database) for database in possible]
        raise ProfileError(
            what, f"it attaches to {', '.join(possible)}", *changes, last_resort=without(term.text)
        )
    if group.component.spec.topology == "single" and (group.term.count or 1) > 1:
        what = f"'{term.text}' cannot be attached to '{group.term.text}'"
        known = (
            f"'{group.term.text}' is {group.term.count} independent servers; one of them can be a"
            " source"
        )
        source = replace(group.term, count=None).in_version(group.term.version)
        replicas = [] if term.name == "replica" else [f"replica{(group.term.count or 2) - 1}"]
        raise ProfileError(what, known, instead(group.term.text, source, *replicas))

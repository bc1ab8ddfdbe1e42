"""PURE: the terms that a profile can contain, each with one line of help."""

from sandbox.profile.library import Library
from sandbox.profile.versions import at_least
from sandbox.report.document import Document, Fact, FactList, Medium, Said, Section

_TITLES = {
    "databases": (
        "Database terms open a group (pxc, galera, gr, psgr: 3 nodes if no count is given)"
    ),
    "attached": "Terms that attach to the group before them",
    "settings": (
        "Settings of the group before them (no count, no version); of one node: galera2:threadpool"
    ),
    "watching": "Terms of the whole stack",
    "named": "Named profiles",
}
_GRAMMAR = (
    "profile = term + term …   term = name[count][@version]   such as pxc3@8.4+proxysql+threadpool"
)


def terms_data(library: Library) -> dict[str, dict[str, str]]:
    """Every term with its line of help, by kind."""
    groups: dict[str, dict[str, str]] = {kind: {} for kind in _TITLES}
    for name in library.components.names():
        spec = library.components.get(name).spec
        kind = {None: "databases", "group": "attached", "stack": "watching"}[spec.attaches]
        groups[kind][name] = spec.help
    groups["settings"] |= {name: setting.help for name, setting in library.settings.items()}
    groups["named"] |= {
        name: f"{named.help} ({named.profile})" for name, named in library.named.items()
    }
    return groups


def terms_document(library: Library) -> Document:
    """The grammar, then every term by kind, with its other names and its versions."""
    aliases = library.components.aliases()
    sections = []
    for kind, terms in terms_data(library).items():
        facts = []
        for name, text in terms.items():
            others = [alias for alias, of in aliases.items() if of == name]
            also = f"; also {', '.join(others)}" if others else ""
            facts.append(Fact(name, f"{text}{also}{_versions(library, name)}"))
        sections.append(Section([FactList(facts)], _TITLES[kind], headed=Medium.EVERYWHERE))
    return Document(Said(_GRAMMAR), sections)


def _versions(library: Library, name: str) -> str:
    image = library.components.get(name).spec.image if name in library.components.names() else None
    if image is None:
        return ""
    since = library.components.get(name).spec.since or "0"
    series = [each for each in library.catalog.image(image).series if at_least(each, since)]
    return f"   ({' '.join(series)})" if len(series) > 1 else ""

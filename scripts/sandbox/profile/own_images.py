"""The user's own image or binary of a node, instead of the image that the catalog chooses."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.profile.given import Binary, ImageAnswer, given_images
from sandbox.profile.grammar import Term
from sandbox.profile.images import Availability, Catalog, ImageChoice, ImageSource
from sandbox.profile.plan import Group, Node, PlanRequest
from sandbox.profile.refusal import ProfileError, only
from sandbox.profile.versions import answers_to, belongs_to


@dataclass(frozen=True, slots=True)
class Own:
    """What a word is given: an image by its reference, or a binary by its path."""

    option: Literal["IMAGE", "BINARY"]
    text: str
    binary: Binary | None = None

    def __str__(self) -> str:
        return f"{self.option}: {self.text}"


def own_by_word(request: PlanRequest) -> Mapping[str | None, Own]:
    """What each word is given. Raises SandboxError (exit 2) for one that is given both."""
    images = given_images(request.images)
    found = {word: Own("IMAGE", text) for word, text in images.items()}
    for each in request.binaries:
        if each.word in images:
            what = f"IMAGE and BINARY both name '{each.word}'"
            step = f"try: make plan PROFILE={request.profile} BINARY={each.word}={each.path}"
            raise SandboxError(what, "a server comes from one of them", step)
        found[each.word] = Own("BINARY", each.path, each)
    return found


class OwnImages:
    """The own images of one plan request. Nodes are asked about in the order of the plan."""

    def __init__(self, request: PlanRequest, catalog: Catalog, available: Availability) -> None:
        """Raises SandboxError (exit 2) for a text that names no image."""
        self._given = own_by_word(request)
        self._catalog = catalog
        self._available = available
        self._unused = set(self._given)
        self._replaced: str | None = None
        """The catalog's reference that the image without a word replaces."""

    def on(self, node: Node, term: Term | None = None) -> Node:
        """The node with its own image, if it is given one. ``term``: None for an auxiliary node.

        Raises ProfileError for an image of another product, or of another version than the term
        asks for.
        """
        word = self._word_of(node)
        if word is None and not self._replaces_plainly(node):
            return node
        self._unused.discard(word)
        choice = self._choice(word, self._given[word], node)
        if term and word is not None and word != node.name:
            self._refuse_other_version(term, self._given[word], choice)
        return replace(node, choice=choice, user=_user_of(node, choice))

    def following(self, nodes: Iterable[Node], term: Term, group: Group) -> tuple[Node, ...]:
        """Replicas without a version of their own have the own image of their group's servers."""
        choices = {node.choice for node in group.databases if node.choice.origin == "given"}
        if term.version or len(choices) != 1 or any(map(_is_of_catalog, group.databases)):
            return tuple(nodes)
        (first,) = choices
        return tuple(
            replace(node, choice=first, user=_user_of(node, first))
            if node.kind == "replica" and node.choice.key == first.key and _is_of_catalog(node)
            else node
            for node in nodes
        )

    def refuse_unused(self, profile: str, nodes: Collection[Node]) -> None:
        """Raises SandboxError (exit 2) for a word that names no node of the plan."""
        for word in self._unused:
            own = self._given[word]
            if word is None:
                known = f"the profile {profile} starts no database server"
                raise ProfileError(f"IMAGE={own.text} replaces nothing", known, only("mysql@9.7"))
            words = {each for node in nodes for each in _words_of(node)}
            what = f"{own.option}: '{word}={own.text}' names no node of the profile {profile}"
            step = f"try: make plan PROFILE={profile}   (lists its nodes)"
            raise SandboxError(what, did_you_mean(word, words), step)

    def _word_of(self, node: Node) -> str | None:
        """The most exact of the words that name a node and have an image."""
        return next((each for each in _words_of(node) if each in self._given), None)

    def _replaces_plainly(self, node: Node) -> bool:
        """Whether the image without a word is this server's: it has the catalog's image of the
        first one.
        """
        if None not in self._given or not node.is_server:
            return False
        if self._replaced is None:
            self._replaced = node.choice.reference
        return node.choice.reference == self._replaced

    def _choice(self, word: str | None, own: Own, node: Node) -> ImageChoice:
        """The choice of an own image: its version is what the image itself says."""
        if own.binary:
            self._refuse_other_program(own, own.binary, node)
            reference, source = self._of_binary(own.binary, node.choice.key)
        else:
            reference, source = own.text, self._source(own.text)
        given = replace(
            node.choice,
            reference=reference,
            source=source,
            origin="given",
            exact=None,
            package=None,
            binary=own.binary,
        )
        answer = self._available.ask(reference) if self._available.ask else None
        if answer is None:
            return given
        self._refuse_other_product(word, own, given, answer)
        reports = self._catalog.image(given.key).reports
        version = answer.version(reports.command) if reports else None
        return replace(
            given,
            identity=answer.identity,
            version=version or given.version,
            series=self._series(given.key, version) if version else given.series,
            user=answer.user or given.user,
        )

    def _of_binary(self, binary: Binary, key: str) -> tuple[str, ImageSource]:
        """The image that was built of a binary, by the end of its name; else the one to build."""
        space = f"sandbox/{key}:"
        names = (name for name in self._available.local if name.startswith(space))
        built = sorted(name for name in names if name.endswith(f"-{binary.mark}"))
        return (built[0], "local") if built else (f"{space}{binary.mark}", "build")

    def _refuse_other_program(self, own: Own, binary: Binary, node: Node) -> None:
        """Raises SandboxError (exit 2) where the server of a binary is not the one of the node."""
        reports = self._catalog.image(node.choice.key).reports
        needed = reports.command[0] if node.is_server and reports else None
        if needed == binary.program:
            return
        step = "try: make list   (shows the components)"
        if needed is None:
            known = "only a database server can be"
            raise SandboxError(f"{own} is to be {node.name}, which is no server", known, step)
        others = [
            key
            for key, image in self._catalog.images.items()
            if image.reports and image.reports.command[0] == binary.program
        ]
        if others:
            step = f"try: make plan PROFILE={others[0]} BINARY={others[0]}={own.text}"
        what = f"{own} has the server {binary.program}"
        raise SandboxError(what, f"{node.component.name} needs {needed}", step)

    def _source(self, reference: str) -> ImageSource:
        """Without an engine to ask, an identity is taken to be here: only an engine gives one."""
        is_identity = reference.startswith("sha256:")
        if self._available.ask:
            is_here = self._available.ask(reference) is not None
        else:
            is_here = is_identity or reference in self._available.local
        if is_here:
            return "local"
        if is_identity:
            return "unavailable"
        return "pull" if _has_registry(reference) or self._available.registry() else "unavailable"

    def _series(self, key: str, version: str) -> str:
        """The catalog's series of a version, else its first two numbers."""
        owners = [name for name in self._catalog.image(key).series if belongs_to(version, name)]
        if owners:
            return max(owners, key=len)
        return ".".join(version.split(".")[:2])

    def _refuse_other_product(
        self, word: str | None, own: Own, choice: ImageChoice, answer: ImageAnswer
    ) -> None:
        """Raises SandboxError (exit 2) where the image's program is not the one of the catalog's
        key.
        """
        reports = self._catalog.image(choice.key).reports
        if reports is None:
            return
        said = answer.said.get(" ".join(reports.command), "")
        if said and self._product(said) in (None, choice.key):
            return
        what = f"{own} is no {'server' if own.binary else 'image'} of {choice.key}"
        if not answer.said:
            known = f"`{' '.join(reports.command)}` gives no version in it"
            command = f"docker run --rm --entrypoint {reports.command[0]} {choice.reference}"
            raise SandboxError(what, known, f"try: {command} {' '.join(reports.command[1:])}")
        self._refuse_named(what, word, own, answer)

    def _refuse_named(self, what: str, word: str | None, own: Own, answer: ImageAnswer) -> NoReturn:
        """Raises SandboxError for the other product that an image says it is."""
        command, line = next(iter(answer.said.items()))
        keys = [
            key
            for key, image in self._catalog.images.items()
            if image.reports and " ".join(image.reports.command) == command
        ]
        key = self._product(line) or keys[0]
        text = own.text if word is None else f"{key}={own.text}"
        step = f"try: make plan PROFILE={key} {own.option}={text}"
        raise SandboxError(what, f"it says: {line}", step)

    def _product(self, line: str) -> str | None:
        """The catalog's key of the product that a line of `--version` names; None if it names
        none.
        """
        named = {
            image.reports.names: key
            for key, image in self._catalog.images.items()
            if image.reports and image.reports.names
        }
        return next((key for name, key in named.items() if name in line), None)

    def _refuse_other_version(self, term: Term, own: Own, choice: ImageChoice) -> None:
        """Raises ProfileError where a term asks for another version than the image has."""
        if term.version is None or choice.identity is None:
            return
        series, exact = self._catalog.image(choice.key).resolve(choice.key, term.version)
        fits = answers_to(exact, choice.version) if exact else belongs_to(choice.version, series)
        if fits:
            return
        what = f"{own} has version {choice.version}, '{term.text}' asks for {term.version}"
        known = "without a version in the profile, the image decides"
        text = f"{term.name}={own.text}"
        step = f"try: make plan PROFILE={term.in_version(None)} {own.option}={text}"
        raise SandboxError(what, known, step)


def _words_of(node: Node) -> list[str]:
    """The words that name a node, the most exact first; an auxiliary node is not meant by its
    component's term.
    """
    if node.service != node.component.name:
        return [node.name, node.service]
    return [node.name, node.term, node.component.name]


def _user_of(node: Node, choice: ImageChoice) -> str | None:
    """A fragment's own user wins, as it does over the catalog's."""
    auxiliary = node.component.spec.auxiliary.get(node.service)
    spec = auxiliary or node.component.spec
    return spec.user or choice.user


def _is_of_catalog(node: Node) -> bool:
    return node.choice.origin != "given"


def _has_registry(reference: str) -> bool:
    """Whether a reference names the registry that has it, as ``ghcr.io/me/mysql:1`` does."""
    host, slash, _ = reference.partition("/")
    return bool(slash) and (host == "localhost" or "." in host or ":" in host)

"""PURE: a Compose file that somebody else wrote: its servers and proxies as a profile."""

import shlex
from collections.abc import Mapping
from typing import Any, ClassVar

import yaml

from sandbox.core.yaml_lines import compose, line_of
from sandbox.repro.importing.common.draft import NotTaken, ReproDraft
from sandbox.repro.importing.common.options import (
    Option,
    options_of_file,
    options_of_words,
    taken_over,
)
from sandbox.repro.importing.common.seen import seen_in_options
from sandbox.repro.importing.common.servers import FAMILIES, SeenServer, term_with_version
from sandbox.repro.importing.common.setups import setup_draft
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader, refused

_OTHERS = {
    "bitnami/mysql": "mysql",
    "bitnami/mariadb": "mariadb",
    "bitnami/mariadb-galera": "galera",
}
"""Repositories beside those of the catalog."""
_AUTHORS = ("library/", "docker.io/", "docker.io/library/")
_OWN_KEYS = {
    "environment": "accounts and schemas: the stack draws its own; the schema is repro",
    "ports": "nothing is published; PUBLISH=1 of make up does",
    "networks": "the stack has a network of its own",
    "depends_on": "the stack starts in its own order",
    "healthcheck": "each server has a readiness question of its own",
    "build": "an image of your own is named by IMAGE=, a server by BINARY=",
}


class ComposeFile(SourceReader):
    """Services with a known image become terms of the profile, ``command`` becomes ``set``."""

    rank: ClassVar[int] = 40
    reads: ClassVar[str] = "a Compose file"

    def recognises(self, source: ImportSource) -> bool:
        if source.text is None or "services:" not in source.text:
            return False
        try:
            data = yaml.safe_load(source.text)
        except yaml.YAMLError:
            return False
        return isinstance(data, dict) and isinstance(data.get("services"), dict)

    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        import_ = _Import(source, known)
        import_.read()
        if not import_.servers:
            why = "no service has the image of a server that is known here"
            raise refused(source, why, "try: make list WHAT=versions   (names the images)")
        profile = "+".join([*import_.terms(), *import_.proxies])
        draft = setup_draft(
            f"The servers of {source.name}", profile, import_.settings(), import_.left
        )
        draft.memory = import_.memory
        draft.cpus = import_.cpus
        if import_.dumps:
            draft.load = {"file": import_.dumps[0]}
        return draft


class _Import:
    """What is found in one file. ``servers``: term → the options of its services."""

    def __init__(self, source: ImportSource, known: Known) -> None:
        self._source = source
        self._known = known
        self._tree = compose(source.text or "")
        self._versions: dict[str, str | None] = {}
        self.servers: dict[str, list[list[Option]]] = {}
        self.proxies: list[str] = []
        self.left: list[NotTaken] = []
        self.dumps: list[str] = []
        self.memory: str | None = None
        self.cpus: str | None = None

    def read(self) -> None:
        """Reads every service."""
        data = yaml.safe_load(self._source.text or "")
        for name, service in data["services"].items():
            if isinstance(service, Mapping):
                self._service(str(name), service)

    def _leave(self, place: tuple[str, ...], what: str, why: str) -> None:
        line = line_of(self._tree, ("services", *place))
        self.left.append(NotTaken(f"{self._source.name}:{line}", what, why))

    def _service(self, name: str, service: Mapping[str, Any]) -> None:
        image = str(service.get("image", ""))
        term, tag = self._term_of(image)
        if term is None:
            why = "no server or proxy that is known here" if image else _OWN_KEYS["build"]
            self._leave((name,), f"service {name} ({image or 'built'})", why)
            return
        if term not in FAMILIES:
            self._proxy(name, term, tag)
            return
        options = self._options(name, service)
        seen = seen_in_options(options)
        version = tag if tag[:1].isdigit() else None
        words = {"mariadb": "mariadb", "ps": "percona", "pxc": "xtradb cluster"}.get(term, "")
        galera = seen.galera or term in ("galera", "pxc")
        if term == "galera":
            words = "mariadb"
        server = SeenServer(version, words, galera, seen.group)
        self.servers.setdefault(server.term, []).append(options)
        self._version(name, server)
        self._limits(service)
        for key, why in _OWN_KEYS.items():
            if key in service:
                self._leave((name, key), key, why)

    def _term_of(self, image: str) -> tuple[str | None, str]:
        repository, _, tag = image.partition("@")[0].rpartition(":")
        if not repository or "/" in tag:
            repository, tag = image, ""
        for author in sorted(_AUTHORS, key=len, reverse=True):
            repository = repository.removeprefix(author)
        return self._known.repositories.get(repository) or _OTHERS.get(repository), tag

    def _version(self, name: str, server: SeenServer) -> None:
        place = f"{self._source.name}:{line_of(self._tree, ('services', name, 'image'))}"
        term, left = term_with_version(server, self._known, place)
        self.left += left
        version = term.partition("@")[2] or None
        known = self._versions.setdefault(server.term, version)
        if known != version:
            what = f"{name}: version {version or 'of no tag'}"
            self._leave((name, "image"), what, f"others of {server.term} have {known}")

    def _proxy(self, name: str, term: str, tag: str) -> None:
        server = SeenServer(tag)
        number = server.number or ""
        series = self._known.series.get(term, ())
        fits = any(number == each or number.startswith(f"{each}.") for each in series)
        self.proxies.append(f"{term}@{number}" if fits else term)
        if number and not fits:
            self._leave((name, "image"), f"version {tag}", f"there are {', '.join(series)} here")
        self._leave(
            (name,), f"configuration of {name}", "the stack writes its own; CNF= adds to it"
        )

    def _options(self, name: str, service: Mapping[str, Any]) -> list[Option]:
        command = service.get("command") or []
        words = shlex.split(command) if isinstance(command, str) else [str(e) for e in command]
        line = line_of(self._tree, ("services", name, "command"))
        programs = ("mysqld", "mariadbd")
        given = [word for word in words if word not in programs]
        options, left = options_of_words(given, f"{self._source.name}:{line}")
        self.left += left
        for volume in service.get("volumes") or []:
            options += self._mounted(name, volume)
        return options

    def _mounted(self, name: str, volume: Any) -> list[Option]:
        """The options of an option file that is mounted; a dump that is mounted is loaded."""
        if isinstance(volume, Mapping):
            volume = f"{volume.get('source', '')}:{volume.get('target', '')}"
        path, _, target = str(volume).partition(":")
        path = path.removeprefix("./")
        if path.endswith((".cnf", ".ini")) and (text := self._source.read(path)) is not None:
            options, left = options_of_file(text, path)
            self.left += left
            return options
        is_dump = path.endswith((".sql", ".sql.gz", ".sql.zst"))
        if is_dump and "initdb.d" in target and not self.dumps:
            self.dumps.append(self._source.beside(path))
            return []
        self._leave((name, "volumes"), str(volume), "the stack has volumes of its own")
        return []

    def _limits(self, service: Mapping[str, Any]) -> None:
        deploy = service.get("deploy") or {}
        limits = (deploy.get("resources") or {}).get("limits") or {}
        memory = service.get("mem_limit") or limits.get("memory")
        cpus = service.get("cpus") or limits.get("cpus")
        self.memory = str(memory).lower() if memory else self.memory
        self.cpus = str(cpus) if cpus else self.cpus

    def terms(self) -> list[str]:
        """The terms of the servers, with counts and versions."""
        found = []
        for term, services in self.servers.items():
            least = 2 if term in ("galera", "pxc") else 1
            count = max(len(services), least)
            version = self._versions.get(term)
            number = str(min(count, 9)) if count > 1 else ""
            found.append(f"{term}{number}" + (f"@{version}" if version else ""))
        return found

    def settings(self) -> list[str]:
        """The pairs of SET=: those of all services for every server, others for their node."""
        pairs: list[str] = []
        for term, services in self.servers.items():
            texts = [{(o.name, o.value) for o in options} for options in services]
            common = set.intersection(*texts)
            for number, options in enumerate(services, 1):
                for option in options:
                    is_common = (option.name, option.value) in common
                    if is_common and number > 1:
                        continue
                    own = None if is_common else number
                    placed = Option(option.name, option.value, option.place, own)
                    taken, left = taken_over([placed], term)
                    pairs += taken
                    self.left += left
        return list(dict.fromkeys(pairs))

"""Makes the image of a server that somebody built, on the first Debian that has its libraries."""

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.core.errors import MachineError, SandboxError
from sandbox.core.paths import CHECKOUT
from sandbox.profile.given import Binary
from sandbox.profile.images import Catalog, ImageChoice
from sandbox.stack.binary_tree import BASE, FoundServer, ServerTree, symbols_of, tree_at
from sandbox.stack.engine import Docker
from sandbox.stack.images import IMAGES, image_id
from sandbox.stack.locks import cache_folder
from sandbox.stack.own_images import asker

Follow = Callable[[list[str], Callable[[str], None]], tuple[int, list[str]]]
"""Runs a command, gives each line to a function; its exit code and last lines."""
SUITES: Mapping[str, tuple[int, int]] = {
    "bookworm": (36, 30),
    "trixie": (41, 33),
    "sid": (99, 99),
    "bullseye": (31, 28),
}
"""Debian's suites in the order in which they are tried → the newest symbols of their C and C++
libraries: GLIBC_2.36, GLIBCXX_3.4.30.
"""
NEEDED = {
    "mysqld": ("mysqld", "mysql"),
    "mariadbd": ("mariadbd", "mariadb", "mariadb-install-db", "my_print_defaults"),
}
"""Server → the programs that the entrypoint of its image runs."""
_COPIED = ("binary", "server", "mysql", "mariadb")
_MISSING = re.compile(r"sandbox-missing: (\S+) (\S+)")
_BASE_IMAGE = CHECKOUT / "scripts" / "base-image"
_USERS = {"ps": "1001"}
"""Key of an image → the uid of its user, where that is not 999."""


def remove_built(docker: Docker, key: str, mark: str) -> bool:
    """Removes the images that were made of a binary; whether none is left, which a container may
    still have.
    """
    listed = docker.answer("image", "ls", "--format", "{{.Tag}}", f"sandbox/{key}").stdout
    tags = [tag for tag in listed.split() if tag.endswith(f"-{mark}")]
    answers = [docker.answer("rmi", f"sandbox/{key}:{tag}") for tag in tags]
    return not any(answer.code for answer in answers)


@dataclass(frozen=True, slots=True)
class BinaryBuild:
    """The build of one image. ``follow``: how its commands run; ``show``: what it is doing."""

    choice: ImageChoice
    binary: Binary
    docker: Docker
    catalog: Catalog
    follow: Follow
    show: Callable[[str], None]
    on_line: Callable[[str], None]

    def run(self) -> str:
        """Builds the image and returns its name, which has the server's version.

        Raises SandboxError: exit 2 where programs or libraries of the server are missing; exit 4
        where the build fails.
        """
        folder = cache_folder() / "binaries"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{self.binary.mark}-", dir=folder) as context:
            self.show("unpacking")
            oldest = self._staged(Path(context))
            return self._named(self._built(Path(context), oldest))

    def _staged(self, context: Path) -> tuple[int, int]:
        """Puts everything into the context; the oldest symbols of the C libraries that do."""
        for name in _COPIED:
            shutil.copytree(IMAGES / name, context / name)
        tree = tree_at(Path(self.binary.path).expanduser())
        found = tree.find()
        if found is None:
            raise SandboxError(
                f"BINARY: {self.binary.path} has no server any more",
                "it has changed since it was read",
                f"try: ls {self.binary.path}",
            )
        places = place_files(tree, found, context / "tree")
        self._refuse_incomplete(places)
        return symbols_of(tree.program(found))

    def _refuse_incomplete(self, places: set[str]) -> None:
        names = {place.rpartition("/")[2] for place in places}
        missing = [each for each in NEEDED[self.binary.program] if each not in names]
        if missing:
            raise SandboxError(
                f"BINARY: {self.binary.path} lacks {', '.join(missing)}",
                "the image's entrypoint needs the server, its client and its installer",
                "try: unpack the client's package into the same folder, or build those targets",
            )

    def _built(self, context: Path, oldest: tuple[int, int]) -> str:
        """The identity of the image, on the first suite that has all libraries."""
        lacking: dict[str, list[tuple[str, str]]] = {}
        for suite, has in SUITES.items():
            if any(have < need for have, need in zip(has, oldest, strict=True)):
                continue
            self.show(f"on Debian {suite}")
            missing = self._on(suite, context)
            if not missing:
                return self._building
            lacking[suite] = missing
        raise self._lacks(lacking, oldest)

    @property
    def _building(self) -> str:
        return f"sandbox/{self.choice.key}:building-{self.binary.mark}"

    def _on(self, suite: str, context: Path) -> list[tuple[str, str]]:
        """Builds on one suite; the libraries that it lacks, each with a program that needs it."""
        code, tail = self.follow([str(_BASE_IMAGE), suite], self.on_line)
        if code:
            raise MachineError(f"debian:{suite}-slim is unavailable", *_last_two(tail))
        missing: list[tuple[str, str]] = []

        def read(line: str) -> None:
            if match := _MISSING.search(line):
                missing.append((match[1], match[2]))
            self.on_line(line)

        family = "mariadb" if self.binary.program == "mariadbd" else "mysql"
        arguments = {
            "SUITE": suite,
            "FAMILY": family,
            "USER_ID": _USERS.get(self.choice.key, "999"),
        }
        # A suite that lacks something must leave no container behind.
        argv = ["docker", "build", "--force-rm", "--network", "host", "-t", self._building]
        argv += ["-f", str(context / "binary" / "Dockerfile")]
        for name, value in arguments.items():
            argv += ["--build-arg", f"{name}={value}"]
        code, tail = self.follow([*argv, str(context)], read)
        if code and not missing:
            reason = next((line for line in reversed(tail) if line.strip()), "no reason is given")
            what = f"no image can be made of {self.binary.path} on Debian {suite}"
            raise MachineError(what, reason, "try: the same command with DEBUG=1")
        return missing

    def _lacks(
        self, lacking: Mapping[str, list[tuple[str, str]]], oldest: tuple[int, int]
    ) -> SandboxError:
        path = self.binary.path
        if not lacking:
            what = f"BINARY: {path} needs GLIBC_2.{oldest[0]} and GLIBCXX_3.4.{oldest[1]}"
            return SandboxError(what, "no suite of Debian here has it", "try: build it on Debian")
        suite = min(lacking, key=lambda each: len(lacking[each]))
        named = ", ".join(
            f"{soname} (of {program.rpartition('/')[2]})" for soname, program in lacking[suite]
        )
        return SandboxError(
            f"BINARY: {named} is missing",
            f"neither {path} nor Debian {', '.join(lacking)} has it",
            "try: put the library beside the server's own in lib, or build the server without it",
        )

    def _named(self, building: str) -> str:
        """The final name of the image."""
        reports = self.catalog.image(self.choice.key).reports
        answer = asker(self.docker, self.catalog)(building)
        version = answer.version(reports.command) if answer and reports else None
        if version is None:
            self.docker.answer("rmi", building)
            what = f"BINARY: {self.binary.program} of {self.binary.path} does not say its version"
            raise SandboxError(what, "it does not run in its image", "try: make doctor")
        name = f"sandbox/{self.choice.key}:{version}-{self.binary.mark}"
        self.docker.ask("tag", building, name)
        self.docker.answer("rmi", building)
        return name

    def is_there(self) -> bool:
        """Whether another command has built it meanwhile."""
        listed = self.docker.ask(
            "image", "ls", "--format", "{{.Tag}}", f"sandbox/{self.choice.key}"
        )
        return any(tag.endswith(f"-{self.binary.mark}") for tag in listed.split()) or (
            image_id(self.docker, self.choice.reference) is not None
        )


def place_files(tree: ServerTree, found: FoundServer, root: Path) -> set[str]:
    """Puts the files of a server where they belong below ``root``; the places."""
    places = set()
    for entry, content in tree.entries(found):
        target = root / entry.place
        leads_out = not target.parent.resolve().is_relative_to(root.resolve())
        if leads_out or entry.place in places:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        places.add(entry.place)
        if entry.link is not None:
            target.symlink_to(entry.link)
        elif content is not None:
            with target.open("wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
            target.chmod(entry.mode | 0o644)
    if found.layout.libraries:
        # Last among the loader's folders: the system's own libraries win.
        path = root / "etc" / "ld.so.conf.d" / "zz-sandbox-server.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"/{BASE}/lib\n", encoding="utf-8")
    return places


def _last_two(tail: list[str]) -> tuple[str, str]:
    """The last two of the three lines with which a script of ours ends."""
    known, step = ["", "", *tail][-2:]
    return known, f"try: {step.removeprefix('Next: ')}"

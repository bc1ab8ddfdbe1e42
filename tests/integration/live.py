"""A real stack under test: the command line brings it up, the engine's client asks and breaks
it.
"""

import json
import shlex
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pytest_docker.plugin import DockerComposeExecutor, Services, get_docker_services

from integration.prepared import make_data_directories, no_snapshot_taken
from sandbox.stack.naming import project_name

CHECKOUT = Path(__file__).resolve().parents[2]
SANDBOX = CHECKOUT / ".venv" / "bin" / "sandbox"
AS_COMPOSE = Path(__file__).with_name("as_compose.sh")
LEDGER = Path(__file__).with_name("ledger_writer.py")
BREAKS_REPLICAS = (
    "use sbtest; create table p (id int primary key); create table c (id int primary key, p_id int,"
    " foreign key (p_id) references p (id) on delete cascade); insert into p values (1), (2);"
    " insert into c values (1, 1), (2, 1), (3, 2);"
    " delete p, c from p straight_join c on c.p_id = p.id where p.id = 1"
)
"""MySQL Bug#102586: a replica, or a secondary, finds no row where the cascade was first."""
LATE = ("the prober was late", "the probe was late")
"""Why a trial beside other tests may be no measurement, in the words of today and of older records;
what it found is there all the same.
"""


def run(
    argv: Sequence[str | Path], check: bool = True, stdin: str | None = None, timeout_s: int = 600
) -> subprocess.CompletedProcess[str]:
    """A command to its end; its whole output is in the failure message."""
    done = subprocess.run(
        [str(part) for part in argv],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=CHECKOUT,
        check=False,
    )
    if check:
        assert done.returncode == 0, (
            f"{argv}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        )
    return done


def sandbox(
    *argv: str, check: bool = True, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """One command of the sandbox."""
    return run([SANDBOX, *argv], check=check, stdin=stdin)


def printed_file(folder: Path, profile: str) -> Path:
    """The profile's Compose file in that folder, and every image that it names on this machine."""
    sandbox("images", "--profile", profile)
    file = folder / "stack.yaml"
    file.touch(mode=0o600)
    file.write_text(sandbox("config", "--profile", profile).stdout)
    return file


def newest_result(slug: str, of: str = "") -> Path:
    """The folder of the newest result of that name; ``of``: a stack, beside others that write
    results too.
    """
    results = sorted((CHECKOUT / "results").glob(f"2*-{slug}"), reverse=True)
    return next(each for each in results if not of or _is_of(each, of))


def _is_of(result: Path, stack: str) -> bool:
    records = result.glob("runs/*/record.json")
    return any(json.loads(path.read_text())["stack"] == stack for path in records)


def run_statuses(result: Path) -> dict[str, str]:
    """Run → status, from the manifest."""
    manifest = json.loads((result / "manifest.json").read_text())
    return {run["run"]: run["status"] for run in manifest["runs"]}


class Ledger:
    """A client that writes numbered rows all the time and keeps the numbers that a server
    acknowledged.
    """

    def __init__(self, stack: "LiveStack", hosts: list[str]) -> None:
        self._process = subprocess.Popen(
            [
                "docker",
                "exec",
                "-i",
                stack.container("client1"),
                "python3",
                "-c",
                LEDGER.read_text(),
                *hosts,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.acknowledged: list[int] = []

    def wait_for(self, more: int) -> None:
        """Until so many further rows were acknowledged: the stack takes writes."""
        assert self._process.stdout
        for _ in range(more):
            line = self._process.stdout.readline()
            assert line, "the ledger writer ended by itself"
            self.acknowledged.append(int(line))

    def stop(self) -> None:
        """Ends the writer and takes in what it still acknowledged."""
        rest, _ = self._process.communicate(timeout=60)
        self.acknowledged += [int(line) for line in rest.split()]


class LiveStack:
    """One running stack."""

    def __init__(self, name: str, profile: str) -> None:
        self.name, self.profile = name, profile

    @property
    def services(self) -> Services:
        """Its services as Compose itself finds them, without a file."""
        return Services(DockerComposeExecutor("docker compose", [], project_name(self.name)))

    def wait_until(self, happened: Callable[[], bool], seconds: int = 60) -> None:
        """Until something is so, bounded."""
        self.services.wait_until_responsive(happened, seconds, 0.1)

    def data(self) -> list[dict[str, Any]]:
        """Labels of every container: ``sandbox.about`` with name and kind."""
        shown = json.loads(sandbox("ps", "--name", self.name, "--json").stdout)
        stack = next(item for item in shown["stacks"] if item["name"] == self.name)
        return list(stack["nodes"])

    def trial(self, *words: str) -> dict[str, Any]:
        """The record of a trial that measured, or was too late beside other tests."""
        argv = [str(SANDBOX), "trial", "--name", self.name, *words, "--json"]
        done = run(argv, check=False, timeout_s=1200)  # a join alone has ten minutes
        record: dict[str, Any] = json.loads(done.stdout)
        assert record["status"] == "ok" or record["reason"].startswith(LATE), (
            record["reason"],
            done.stderr,
        )
        return record

    def trial_without_loss(self, *words: str) -> dict[str, Any]:
        """The same of a trial whose actions were done, after which nothing is lost and every node
        is ready.
        """
        record = self.trial(*words)
        checks = {check["name"]: (check["verdict"], check["detail"]) for check in record["checks"]}
        for name in ("actions_done", "lost", "phantom", "duplicate", "divergence"):
            assert checks[name][0] in ("pass", "skipped"), (name, checks[name])
        assert record["trial"]["whole_ms"] is not None
        return record

    def containers(self) -> dict[str, tuple[str, str]]:
        """Node → (kind, container id), straight from the engine: asked often, so it must cost
        little.
        """
        labels = [f'{{{{.Label "sandbox.{name}"}}}}' for name in ("stack", "node", "kind")]
        row = "\t".join([*labels, "{{.ID}}"])
        shown = run(
            ["docker", "ps", "-a", "--filter", "label=sandbox.kind", "--format", row]
        ).stdout
        ours = {project_name(self.name), self.name}
        nodes = [line.split("\t") for line in shown.splitlines()]
        return {node: (kind, id_) for stack, node, kind, id_ in nodes if stack in ours}

    def names(self, *kinds: str) -> list[str]:
        """Node names of some kinds, in order."""
        return sorted(node for node, (kind, _) in self.containers().items() if kind in kinds)

    @property
    def servers(self) -> list[str]:
        """Database nodes, members and replicas."""
        return self.names("database", "replica")

    def container(self, node: str) -> str:
        """Container id of a node."""
        return self.containers()[node][1]

    def sql(self, node: str, query: str) -> str:
        """A query as root inside a server's own container."""
        script = (
            'c=$(command -v mariadb || command -v mysql); exec "$c"'
            ' --defaults-file=/sandbox/client.cnf -NB -e "$1"'
        )
        return run(
            ["docker", "exec", self.container(node), "sh", "-c", script, "sql", query]
        ).stdout.strip()

    def from_client(
        self, host: str, query: str, port: int = 3306, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """A query as the application user, from the client node through the network."""
        return run(
            [
                "docker",
                "exec",
                self.container("client1"),
                "mariadb",
                "--defaults-file=/sandbox/app.cnf",
                "-h",
                host,
                "-P",
                str(port),
                "-NB",
                "-e",
                query,
            ],
            check=check,
        )

    def ports(self, node: str) -> Mapping[str, int]:
        """Port names of a node, as `ps` shows them."""
        return next(item["ports"] for item in self.data() if item["name"] == node)

    def who_answers(self, proxy: str, port: int) -> str:
        """The server behind a proxy's port."""
        return self.from_client(proxy, "select @@hostname", port).stdout.strip()

    def assert_routed(self, proxy: str) -> str:
        """One writer takes what is written, more than one server is read; the writer."""
        ports = self.ports(proxy)
        writers = {self.who_answers(proxy, ports["rw"]) for _ in range(6)}
        assert len(writers) == 1 and writers <= set(self.writers())
        readers = {self.who_answers(proxy, ports["ro"]) for _ in range(12)}
        assert len(readers) > 1, f"only {readers} read"
        return writers.pop()

    def role(self, node: str) -> str:
        """``writer`` or ``reader``, as the node itself answers."""
        return run(
            ["docker", "exec", self.container(node), "sh", "/sandbox/probe", "role"]
        ).stdout.strip()

    def roles(self) -> dict[str, object]:
        """Server → its role, as `make ps` shows it."""
        return {
            str(node["name"]): node["role"]
            for node in self.data()
            if node["kind"] in ("database", "replica")
        }

    def writers(self) -> list[str]:
        """Every server that takes writes now."""
        return [node for node in self.servers if self.role(node) == "writer"]

    def kill(self, *nodes: str) -> None:
        """SIGKILL, all at once."""
        run(["docker", "kill", *[self.container(node) for node in nodes]])

    def pause(self, *nodes: str) -> None:
        """Stops every process of the nodes; a container that is busy may not freeze at once."""
        for container in map(self.container, nodes):
            for _ in range(3):
                done = run(["docker", "pause", container], check=False)
                if "unable to freeze" not in done.stderr:
                    break
            assert done.returncode == 0, done.stderr

    def unpause(self, *nodes: str) -> None:
        """They go on."""
        run(["docker", "unpause", *map(self.container, nodes)])

    def start(self) -> None:
        """Starts what does not run, and waits until the stack is ready."""
        sandbox("start", "--name", self.name)

    def ledger(self, *hosts: str) -> Ledger:
        """Starts a ledger over some hosts, or over the members of the first group."""
        return Ledger(self, list(hosts) or self.names("database"))

    def assert_everywhere(self, numbers: list[int]) -> None:
        """Every acknowledged row is on every server: nothing lost, nothing only here."""
        assert numbers
        for node in self.servers:
            # A row may be there that was never acknowledged, so a count says nothing: the last
            # number does, and then every number before it is asked for.
            self.sql_until(
                node, f"select count(*) from sbtest.ledger where id = {numbers[-1]}", "1"
            )
            there = {
                int(number) for number in self.sql(node, "select id from sbtest.ledger").split()
            }
            missing = sorted(set(numbers) - there)
            assert not missing, (
                f"{node} misses {len(missing)} acknowledged rows, first {missing[:5]}"
            )

    def sql_until(self, node: str, query: str, expected: str, seconds: int = 60) -> None:
        """Asks until the answer is the expected one, bounded."""
        script = (
            f'for i in $(seq {seconds * 5}); do [ "$(sh -c "$1")" = "$2" ] && exit 0; sleep 0.2;'
            " done; exit 1"
        )
        client = "$(command -v mariadb || command -v mysql)"
        ask = f"{client} --defaults-file=/sandbox/client.cnf -NB -e '{query}' 2>/dev/null"
        done = run(
            ["docker", "exec", self.container(node), "sh", "-c", script, "until", ask, expected],
            check=False,
        )
        assert done.returncode == 0, (
            f"{node}: {query} did not become {expected}; now {self.sql(node, query)}"
        )


def leftovers(label: str) -> list[str]:
    """Containers, volumes and networks that carry a label."""
    found = []
    for kind in (["ps", "-aq"], ["volume", "ls", "-q"], ["network", "ls", "-q"]):
        found += run(["docker", *kind, "--filter", f"label={label}"]).stdout.split()
    return found


@contextmanager
def live_stack(profile: str, *options: str) -> Iterator[LiveStack]:
    """A stack of its own name, gone afterwards whatever happened: pytest-docker has it brought up
    and removed by our command line.

    Its servers start from data directories that were initialised before; where their first start is
    the subject, a test passes ``--cold``. A server that somebody else runs needs none.
    """
    name = f"t-{uuid.uuid4().hex[:6]}"
    if not {"--cold", "--external"} & {*options}:
        given = dict(zip(options[::2], options[1::2], strict=True))
        make_data_directories(profile, given.get("--set", ""))
    setup = shlex.join(["up", "--profile", profile, *options])
    with ExitStack() as up:
        with no_snapshot_taken():
            services = get_docker_services(str(AS_COMPOSE), [], name, setup, "down")
            up.enter_context(services)
        yield LiveStack(name, profile)

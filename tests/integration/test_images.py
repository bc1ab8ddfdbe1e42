"""Images built here, run with nothing but ``docker run``: they keep the contract of the published
ones.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from integration.live import CHECKOUT, run, sandbox

pytestmark = pytest.mark.docker

PASSWORD = "se\"c\\r't"
SERVERS = {
    "mysql@9.7": ("sandbox/mysql:9.7-sid", "mysqld", "mysql"),
    "mariadb@10.5": ("sandbox/mariadb:10.5-bullseye", "mariadbd", "mariadb"),
    "mariadb@10.11": ("sandbox/mariadb:10.11-bookworm", "mysqld", "mysql"),
    "mariadb@11.8": ("sandbox/mariadb:11.8-trixie", "mariadbd", "mariadb"),
}
FIRST_START = {
    "10-table.sql": "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1);",
    "20-script.sh": "echo 'INSERT INTO t VALUES (2)' | docker_process_sql",
    "30-password.sh": (
        '[ "$MYSQL_ROOT_PASSWORD" = "$(</test/password)" ]; docker_process_sql <<<"INSERT t VALUES'
        ' (3)"'
    ),
    "40-ignored.txt": "neither SQL nor shell",
}


class Server:
    """One container of a server, with its volume; both gone at the end."""

    def __init__(self, profile: str, folder: Path) -> None:
        self.image, self.program, self.client = SERVERS[profile]
        self.name, self.folder = f"t-images-{uuid.uuid4().hex[:8]}", folder
        folder.chmod(0o755)
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        (folder / "user").write_text("somebodys-own", encoding="utf-8")

    def create(
        self,
        *arguments: str,
        files: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``docker run -d`` with the password file, first-start files and the server's own
        arguments.
        """
        start = self.folder / "start"
        start.mkdir(exist_ok=True)
        start.chmod(0o755)
        for name, text in (files or {}).items():
            (start / name).write_text(text, encoding="utf-8")
        mounts = [
            f"{self.name}:/var/lib/mysql",
            f"{self.folder}:/test:ro",
            f"{start}:/docker-entrypoint-initdb.d:ro",
        ]
        values = {
            "MYSQL_ROOT_PASSWORD_FILE": "/test/password",
            "MYSQL_INITDB_SKIP_TZINFO": "1",
            **(environment or {}),
        }
        options = [part for mount in mounts for part in ("-v", mount)]
        options += [part for name, value in values.items() for part in ("-e", f"{name}={value}")]
        run(
            [
                "docker",
                "run",
                "-d",
                "--name",
                self.name,
                *options,
                self.image,
                self.program,
                *arguments,
            ]
        )

    def sql(
        self, query: str, user: str = "root", key_file: str = "/test/password", check: bool = True
    ) -> str:
        """A query over TCP; the answer, or without ``check`` the error."""
        script = (
            'password=$(sed \'s/[\\\\"]/\\\\&/g\' "$3"); '
            'printf \'[client]\\nuser=%s\\npassword="%s"\\n\' "$2" "$password" >/tmp/test.cnf; '
            'exec "$4" --defaults-file=/tmp/test.cnf --protocol=tcp --host=127.0.0.1 -NB -e "$1"'
        )
        done = run(
            [
                "docker",
                "exec",
                self.name,
                "sh",
                "-c",
                script,
                "sql",
                query,
                user,
                key_file,
                self.client,
            ],
            check=check,
        )
        return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()

    def logs(self) -> str:
        done = run(["docker", "logs", self.name])
        return done.stdout + done.stderr

    def state(self) -> tuple[str, int]:
        """(running | exited | …, exit code)."""
        state = json.loads(
            run(["docker", "inspect", "--format", "{{json .State}}", self.name]).stdout
        )
        return str(state["Status"]), int(state["ExitCode"])

    def until(self, condition: Callable[[], bool], what: str, seconds: int = 180) -> None:
        """Asks until the condition holds, bounded."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, (
                f"{self.image}: {what} not within {seconds} s\n{self.logs()[-3000:]}"
            )
            time.sleep(0.2)

    def ready(self) -> None:
        self.until(lambda: self.sql("SELECT 'ready'", check=False) == "ready", "no answer over TCP")

    def stop(self) -> int:
        """Exit code after TERM, within 20 s (or 137)."""
        run(["docker", "stop", "--time", "20", self.name])
        return self.state()[1]

    def remove(self) -> None:
        run(["docker", "rm", "-fv", self.name], check=False)
        run(["docker", "volume", "rm", "-f", self.name], check=False)


OLDEST_AND_NEWEST = ("mariadb@10.5", "mysql@9.7")
"""Of each family one in every run, far apart in age; the others in the long one."""


@pytest.fixture(
    params=[
        pytest.param(each, marks=() if each in OLDEST_AND_NEWEST else pytest.mark.long)
        for each in SERVERS
    ]
)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    sandbox("images", "--profile", request.param)
    made = Server(request.param, tmp_path)
    yield made
    made.remove()


def test_first_start_accounts_and_restart(server: Server) -> None:
    server.create(
        "--max-connections=77",
        files=FIRST_START,
        environment={
            "MYSQL_DATABASE": "d_b",
            "MYSQL_USER": "somebody",
            "MYSQL_PASSWORD_FILE": "/test/user",
        },
    )
    server.ready()
    assert server.sql("SELECT GROUP_CONCAT(id ORDER BY id) FROM d_b.t") == "1,2,3"
    assert server.sql("SELECT @@max_connections") == "77"
    assert server.sql("SELECT id FROM d_b.t LIMIT 1", user="somebody", key_file="/test/user") == "1"
    assert "denied" in server.sql("SELECT 1 FROM mysql.user", "somebody", "/test/user", check=False)
    for wrong in ("/test/user", "/dev/null"):
        assert "Access denied" in server.sql("SELECT 1", key_file=wrong, check=False)
    assert "Access denied" in server.sql(
        "SELECT 1", user="nobody", key_file="/dev/null", check=False
    )
    environment = run(
        ["docker", "exec", "--user", "999", server.name, "cat", "/proc/1/environ"]
    ).stdout
    assert PASSWORD not in environment + server.logs()
    assert server.stop() == 0
    run(["docker", "start", server.name])
    server.ready()
    assert server.sql("SELECT COUNT(*) FROM d_b.t") == "3"
    assert server.logs().count("initialising the data directory") == 1


@pytest.mark.long
def test_a_first_start_that_was_killed_starts_over_and_can_be_stopped(server: Server) -> None:
    server.create(files={"slow.sql": "SELECT SLEEP(600);"})
    server.until(lambda: "slow.sql" in server.logs(), "the first-start file does not run")
    run(["docker", "kill", server.name])
    run(["docker", "start", server.name])
    server.until(
        lambda: server.logs().count("running /docker-entrypoint") == 2, "it does not start over"
    )
    assert server.stop() == 143
    (server.folder / "start" / "slow.sql").write_text(
        "CREATE DATABASE made_at_last;", encoding="utf-8"
    )
    run(["docker", "start", server.name])
    server.ready()
    assert server.sql("SHOW DATABASES LIKE 'made%'") == "made_at_last"


@pytest.mark.long
def test_a_setting_that_shapes_the_files_is_honoured(server: Server) -> None:
    server.create("--innodb-page-size=8192", environment={"MYSQL_ROOT_HOST": "127.%"})
    server.ready()
    assert server.sql("SELECT @@innodb_page_size") == "8192"
    assert (
        server.sql("SELECT GROUP_CONCAT(host ORDER BY host) FROM mysql.user WHERE user = 'root'")
        == "127.%,localhost"
    )


@pytest.mark.parametrize(
    ("arguments", "environment", "reason"),
    [
        ([], {"MYSQL_ROOT_PASSWORD_FILE": ""}, "no password is given"),
        pytest.param(
            [], {"MYSQL_ROOT_PASSWORD_FILE": "/absent"}, "names /absent", marks=pytest.mark.long
        ),
        pytest.param(
            [], {"MYSQL_ROOT_PASSWORD": "twice"}, "exclude each other", marks=pytest.mark.long
        ),
        (["--no-such-variable=1"], {}, "unknown variable 'no-such-variable=1'"),
    ],
)
def test_what_cannot_start_says_why(
    server: Server, arguments: list[str], environment: dict[str, str], reason: str
) -> None:
    server.create(*arguments, environment=environment)
    server.until(lambda: server.state()[0] == "exited", "it does not end")
    assert server.state()[1] != 0
    assert reason in server.logs()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["scripts/base-image"], 2),
        (["scripts/base-image", "si d;touch x"], 2),
        (["scripts/build-image", "mysql"], 2),
        (["scripts/build-image", "no-such-image", "sid"], 2),
    ],
)
def test_the_build_scripts_refuse_in_three_lines(command: list[str], code: int) -> None:
    done = run([CHECKOUT / command[0], *command[1:]], check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 3)


def test_a_built_image_names_its_package_version() -> None:
    sandbox("images", "--profile", "mariadb@10.11")
    image = SERVERS["mariadb@10.11"][0]
    labelled = run(
        [
            "docker",
            "image",
            "inspect",
            "--format",
            '{{index .Config.Labels "sandbox.package-version"}}',
            image,
        ]
    ).stdout.strip()
    inside = run(
        ["docker", "run", "--rm", image, "dpkg-query", "-W", "-f", "${Version}", "mariadb-server"]
    )
    assert labelled == inside.stdout.strip()


def test_a_package_version_that_the_index_does_not_have_is_refused_with_those_that_it_has() -> None:
    wanted = "1:10.11.1-0+deb12u1"
    done = run(
        [CHECKOUT / "scripts" / "build-image", "mariadb", "bookworm", "10.11", wanted], check=False
    )
    what, known, step = done.stderr.splitlines()[-3:]
    assert (done.returncode, done.stdout) == (4, "")
    assert wanted in what and known.startswith("It has: 1:10.11.") and step.startswith("Next: ")


@pytest.fixture
def mislabelled() -> Iterator[str]:
    """Another version of a tag that says 10.11.1: the series' image, with the name of a published
    one.
    """
    sandbox("images", "--profile", "mariadb@10.11")
    tag = f"10.11.1-{uuid.uuid4().hex[:8]}"
    run(["docker", "tag", SERVERS["mariadb@10.11"][0], f"mariadb:{tag}"])
    yield tag
    run(["docker", "rmi", f"mariadb:{tag}"])


def nodes_once_ready(stack: str, *names: str) -> dict[str, Any]:
    """Every node as `ps` shows it, once these are ready: the others do not wait for one that never
    will be.
    """
    end = time.monotonic() + 60
    while True:
        (shown,) = json.loads(sandbox("ps", "--name", stack, "--json").stdout)["stacks"]
        nodes = {node["name"]: node for node in shown["nodes"]}
        if all(nodes[name]["ready"] for name in names):
            return nodes
        assert time.monotonic() < end, f"not ready: {nodes}"


@pytest.mark.long
def test_an_exact_version_runs_beside_another_and_a_server_of_neither_is_not_ready(
    mislabelled: str,
) -> None:
    name = f"t-{uuid.uuid4().hex[:6]}"
    profile = f"mariadb@10.11.18+mariadb@10.11+mariadb@{mislabelled}"
    try:
        refused = sandbox(
            "up", "--name", name, "--profile", profile, "--snapshots", "0", check=False
        )
        series = json.loads(sandbox("plan", "--profile", "mariadb@10.11", "--json").stdout)[
            "nodes"
        ][0]["version"]
        nodes = nodes_once_ready(name, "mariadb1", "mariadb2")
    finally:
        sandbox("down", "--name", name)
    assert refused.returncode == 4
    assert f"mariadb3 reports version {series}-MariaDB" in refused.stderr.splitlines()[-3]
    assert nodes["mariadb1"]["version"].startswith("10.11.18-MariaDB")
    assert nodes["mariadb2"]["version"].startswith(f"{series}-MariaDB")
    assert not nodes["mariadb3"]["ready"] and mislabelled in nodes["mariadb3"]["readiness"]

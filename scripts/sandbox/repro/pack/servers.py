"""PURE: the servers of a pack, each a service of its Compose file, and the files that they read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.profile.files import FIRST_START, image_user
from sandbox.profile.limits import limits_of
from sandbox.profile.own_files import own_files_of, server_file_name
from sandbox.profile.plan import Node, Plan
from sandbox.profile.templates import Secrets, node_context, render_text
from sandbox.profile.variables import effective_variables, server_configuration
from sandbox.repro.pack.hosts import Hosts

_OURS = ("wsrep_notify_cmd",)
"""Variables that name a file of a stack."""
LOGS = "/logs"

_OUTLIVES = """\
# The container outlives its server: a crash is something to look at, not the end of the repro.
"""
_TO_FILE = f"""\
exec > >(tee "{LOGS}/$HOSTNAME.log") 2>&1 # the repro looks at it
"""
_AGAIN = """\
while {start}; do
  echo 'the server was shut down, and starts again'
done
"""
_GALERA = """\
# {first} founds the cluster. Each of the others waits for the one before it, and gets its data from
# the cluster: an empty folder mysql keeps the image from filling the data directory itself.
before=''
for member in {members}; do
  [ "$member" != "$HOSTNAME" ] || break
  before=$member
done
if [ -z "$before" ]; then
  set -- "$@" --wsrep-new-cluster
else
  until (: >"/dev/tcp/$before/3306") 2>/dev/null; do sleep 0.5; done
  install -d -o mysql -g mysql /var/lib/mysql/mysql
fi
provider=$(find /usr/lib /usr/lib64 -name libgalera_smm.so 2>/dev/null | head -n 1)
set -- "$@" --wsrep-provider="$provider"
"""


@dataclass
class PackedServers:
    """Services and configurations by name, in the order in which they are read."""

    services: dict[str, dict[str, Any]] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)


def packed_servers(hosts: Hosts, secrets: Secrets, logs: bool, restarts: bool) -> PackedServers:
    """The servers of a plan. ``logs``: the repro looks at what they log; ``restarts``: it shuts
    some down and wants them back.
    """
    nodes = hosts.plan.databases
    variables = variables_of_servers(hosts.plan, secrets)
    shared = shared_by_all(list(variables.values()))
    found = PackedServers()
    for node in nodes:
        own = {key: value for key, value in variables[node.name].items() if key not in shared}
        script = _script_name(hosts, node)
        found.configs[script] = _start_script(hosts, node, logs, restarts)
        service = _service(hosts, node, own, script)
        service["configs"] += _files(found.configs, hosts, node, secrets)
        if logs:
            service["volumes"] = [f"logs:{LOGS}"]
        found.services[node.name] = service
    found.configs = {"server.cnf": server_configuration(shared), **found.configs}
    found.configs["root-password"] = secrets.root
    return found


def variables_of_servers(plan: Plan, secrets: Secrets) -> dict[str, dict[str, str | None]]:
    """Server → the variables that it does not leave at their defaults; None is a bare flag."""
    found = {}
    for node in plan.databases:
        given = effective_variables(node, node_context(plan, node, secrets))
        found[node.name] = {key: value for key, value in given.items() if key not in _OURS}
    return found


def shared_by_all(every: Sequence[Mapping[str, str | None]]) -> dict[str, str | None]:
    """What all servers have alike."""
    return {
        key: value
        for key, value in every[0].items()
        if all(key in each and each[key] == value for each in every)
    }


def _service(
    hosts: Hosts, node: Node, own: Mapping[str, str | None], script: str
) -> dict[str, Any]:
    server = node.component.spec.entrypoint[-1]
    options = [
        f"--{name.replace('_', '-')}" + ("" if value is None else f"={value}")
        for name, value in own.items()
    ]
    prefix = "MARIADB" if node.component.spec.family == "mariadb" else "MYSQL"
    environment = {
        f"{prefix}_ROOT_PASSWORD_FILE": "/root-password",
        f"{prefix}_ROOT_HOST": "%",
        f"{prefix}_INITDB_SKIP_TZINFO": "1",
    }
    if image_user(node):
        environment["PERCONA_TELEMETRY_DISABLE"] = "1"
    service: dict[str, Any] = {
        "image": node.image,
        "hostname": node.name,
        "entrypoint": ["bash", f"/{script}"],
        "command": [server, *options],
        "environment": environment,
        "configs": [script, "root-password"],
        "attach": False,
        "stop_signal": "SIGKILL",
    }
    if image_user(node):
        service["user"] = "root"
    return service | limits_of(hosts.plan.request, node)


def _script_name(hosts: Hosts, node: Node) -> str:
    if hosts.kind(node) != "galera":
        return "server.sh"
    several = sum(group.topology == "galera" for group in hosts.plan.groups) > 1
    return f"galera-{node.group_index}.sh" if several else "galera.sh"


def _start_script(hosts: Hosts, node: Node, logs: bool, restarts: bool) -> str:
    context = {"node": node}
    entrypoint = render_text(node.component.spec.entrypoint[0], context, "an entry point")
    start = f'{entrypoint} "$@"'
    if user := image_user(node):
        start = f"chroot --userspec={user}: / {start}"
    parts = [_TO_FILE] if logs else []
    if hosts.kind(node) == "galera":
        group = hosts.plan.group_of(node)
        assert group  # noqa: S101  (a member of a cluster has one)
        members = " ".join(group.database_names)
        parts.append(_GALERA.format(first=group.first, members=members))
    parts.append(_OUTLIVES)
    parts.append(_AGAIN.format(start=start) if restarts else f"{start}\n")
    parts.append('echo "the server has ended, exit code $?"\nexec sleep infinity\n')
    return "".join(parts)


def _files(
    configs: dict[str, str], hosts: Hosts, node: Node, secrets: Secrets
) -> list[dict[str, str]]:
    """The files that a server reads; those that are new among ``configs`` are added."""
    folder = node.component.spec.config_dir
    targets = {"server.cnf": f"{folder}/50-repro.cnf"}
    for name, target, content in _own_files(hosts, node, secrets):
        source = name
        if configs.setdefault(source, content) != content:  # another server's of this name
            source = f"{node.name}-{name}"
            configs[source] = content
        targets[source] = target
    return [{"source": source, "target": target} for source, target in targets.items()]


def _own_files(hosts: Hosts, node: Node, secrets: Secrets) -> Iterator[tuple[str, str, str]]:
    """Name, place and content of each file beside the variables that all servers have."""
    request = hosts.plan.request
    folder = node.component.spec.config_dir
    if hosts.kind(node) == "galera":
        account = f"[mariadbd]\nwsrep_sst_auth = root:{secrets.root}\n"
        yield "sst.cnf", f"{folder}/60-sst.cnf", account
    for name, variant in node.applied:
        if variant.first_start:
            context = node_context(hosts.plan, node, secrets)
            sql = render_text(variant.first_start, context, f"the setting {name}")
            yield f"{name}.sql", f"{FIRST_START}/50-{name}.sql", sql
    if request.cnf:
        yield "user.cnf", f"{folder}/99-user.cnf", request.cnf.content
    contents: dict[str, str] = {}
    for each in own_files_of(request, node):
        contents[each.place] = contents.get(each.place, "") + each.file.content
    for place, content in contents.items():
        yield f"{place}.cnf", f"{folder}/{server_file_name(place)}", content

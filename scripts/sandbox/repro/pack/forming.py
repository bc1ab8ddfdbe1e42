"""PURE: how servers become a group or replicas, as statements of steps.sh."""

from sandbox.profile.plan import Group, Node
from sandbox.repro.pack.hosts import Hosts

_CHANNEL = "for channel 'group_replication_recovery'"


def formed(hosts: Hosts) -> list[str]:
    """The lines that follow the start of all servers; a Galera cluster forms by itself."""
    lines: list[str] = []
    for group in hosts.plan.groups:
        if group.topology == "gr":
            for node in group.databases:
                lines += _member(node, is_first=node.name == group.first)
        elif group.replicas and group.topology == "single":
            lines += _setup(group.databases[0], [reset(group.databases[0])])
        for node in group.replicas:
            lines += _replica(node, group)
    return ["password=$(</root-password)", *lines] if lines else []


def reset(node: Node) -> str:
    """The statement that empties a server's binary log: what stands there is of its first start."""
    if node.component.spec.family == "mysql" and node.at_least("8.2"):
        return "reset binary logs and gtids"
    return "reset master"


def _setup(node: Node, statements: list[str]) -> list[str]:
    return [f"setup {node.name} <<SQL", ";\n".join(statements), "SQL"]


def _member(node: Node, is_first: bool) -> list[str]:
    """The first member founds the group, the others join it one after the other."""
    account = "source_user = 'root', source_password = '$password'"
    change = f"change replication source to {account} {_CHANNEL}"
    if not node.at_least("8.0.23"):
        account = "master_user = 'root', master_password = '$password'"
        change = f"change master to {account} {_CHANNEL}"
    start = ["start group_replication"]
    if is_first:
        bootstrap = "set global group_replication_bootstrap_group"
        start = [f"{bootstrap} = on", *start, f"{bootstrap} = off"]
    return _setup(node, [reset(node), change, *start])


def _replica(node: Node, group: Group) -> list[str]:
    if node.component.spec.family == "mariadb":
        change = (
            f"change master to master_host = '{group.first}', master_user = 'root',\n"
            "  master_password = '$password', master_use_gtid = slave_pos,\n"
            "  master_connect_retry = 1, master_ssl = 0, master_ssl_verify_server_cert = 0"
        )
        return _setup(node, [reset(node), change, "start slave"])
    is_new = node.at_least("8.0.23")
    source = "source" if is_new else "master"
    options = [f"{source}_host = '{group.first}'", f"{source}_user = 'root'"]
    options += [f"{source}_password = '$password'", f"{source}_connect_retry = 1"]
    if node.at_least("5.6"):
        options.append(f"{source}_auto_position = 1")
    if node.at_least("8.0"):
        options.append(f"get_{source}_public_key = 1")
    what = "replication source" if is_new else "master"
    statements = [reset(node), f"change {what} to\n  " + ",\n  ".join(options)]
    statements.append("start replica" if is_new else "start slave")
    if node.at_least("5.7.8"):
        statements.append("set global super_read_only = on")
    return _setup(node, statements)

"""The words that ``VIA=`` accepts on a stack, before any of its servers can be asked for its role."""

from sandbox.plan.model import Node, Plan


def entry_words(plan: Plan) -> frozenset[str]:
    """Names of nodes and of their terms, their ports, and the roles that some server can have."""
    nodes = [node for node in plan.nodes if node.ports and (node.is_server or node.kind == "proxy")]
    externals = [f"external{group.index}" for group in plan.groups if group.external]
    words = {*externals, "writer", *(["external"] if externals else [])}
    if len(plan.databases) > 1:
        words.add("reader")
    return frozenset(words.union(*(_words_of(node) for node in nodes)))


def _words_of(node: Node) -> set[str]:
    """An auxiliary node is reached only by its own name, not by its component's term."""
    terms = {node.term, node.component.name} if node.service == node.component.name else set()
    names = {node.name, *terms}
    return names | {f"{name}:{port}" for name in names for port in node.load_ports}

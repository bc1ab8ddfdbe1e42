"""Questions to the two servers of an upgrade check, both at once where they are the same."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox.stack.client_python import QueryResult, Statement, Target, ask, targets_of
from sandbox.stack.protocol import RunningStack, StackNode
from sandbox.upgrade.data import TableShape, checksum_of, shapes_of
from sandbox.upgrade.defaults import QUESTIONS, ServerVariable, variables_of
from sandbox.upgrade.option_file import ASK, FileOption, said_of_options
from sandbox.upgrade.plans import Family
from sandbox.upgrade.refusals import Refusal

QUERY_S = 60.0
"""For one query of the log."""
_DATA_S = 600.0
"""For a checksum of a table, or a dump."""
_OPTIONS_S = 300.0
_SAID = re.compile(r"^\w+\(\d+, (['\"])(.*)\1\)$", re.DOTALL)
_COLUMNS = (
    "SELECT c.table_schema, c.table_name, c.column_name, c.collation_name"
    " FROM information_schema.columns c JOIN information_schema.tables t"
    " USING (table_schema, table_name) WHERE t.table_type = 'BASE TABLE'"
    " ORDER BY c.table_schema, c.table_name, c.ordinal_position"
)
Answers = tuple[QueryResult, QueryResult]


@dataclass(frozen=True, slots=True)
class BothServers:
    """The older and the newer server of a running stack."""

    stack: RunningStack
    client: str
    old: StackNode
    new: StackNode

    def family(self, node: StackNode) -> Family:
        """Of one of the two."""
        return node.family or "mysql"

    def ask(
        self, statements: Sequence[Statement], schema: str | None = None, limit_s: float = QUERY_S
    ) -> Answers:
        """The same statements on both at once; ``schema``: in which they run."""
        targets = [replace(each, schema=schema) for each in targets_of([self.old, self.new])]
        answers = ask(self.stack, self.client, targets, statements, limit_s)
        return answers[self.old.name], answers[self.new.name]

    def ask_each(
        self, on_old: Sequence[Statement], on_new: Sequence[Statement], schema: str | None = None
    ) -> Answers:
        """Statements of their own for each."""
        if on_old == on_new:
            return self.ask(on_old, schema)
        return self.ask_one(self.old, on_old, schema), self.ask_one(self.new, on_new, schema)

    def ask_one(
        self,
        node: StackNode,
        statements: Sequence[Statement],
        schema: str | None = None,
        limit_s: float = QUERY_S,
    ) -> QueryResult:
        """Statements on one server."""
        (target,) = targets_of([node])
        asked = [replace(target, schema=schema)]
        return ask(self.stack, self.client, asked, statements, limit_s)[node.name]

    def target(self, node: StackNode, schema: str | None) -> Target:
        """A server as the client sees it."""
        (target,) = targets_of([node])
        return replace(target, schema=schema)

    def variables(self, node: StackNode) -> dict[str, ServerVariable]:
        """Every global variable with its default."""
        answer = self.ask_one(node, [QUESTIONS[self.family(node)]])
        return variables_of(answer.rows(0))

    def options(
        self, node: StackNode, options: Sequence[FileOption]
    ) -> dict[str, tuple[bool, str]]:
        """What the program of a server says of each option of a file."""
        program = "mariadbd" if node.family == "mariadb" else "mysqld"
        arguments = [each.argument for each in options]
        argv = ["sh", "-c", ASK, "sh", program, *arguments]
        return said_of_options(self.stack.run(node.name, argv, timeout_s=_OPTIONS_S).stdout)

    def tables(self, node: StackNode, schemas: Sequence[str]) -> list[TableShape]:
        """The tables of some schemas on a server."""
        found = shapes_of(self.ask_one(node, [_COLUMNS]).rows(0))
        return [each for each in found if each.schema in schemas]

    def checksums(
        self, node: StackNode, tables: Sequence[TableShape]
    ) -> Mapping[str, tuple[str, ...] | None]:
        """By table, its rows and their checksum on a server; None where it cannot be read."""
        found: dict[str, tuple[str, ...] | None] = {}
        for table in tables:
            answer = self.ask_one(node, [checksum_of(table)], limit_s=_DATA_S)
            rows = answer.rows(0)
            found[table.name] = tuple(map(str, rows[0])) if rows else None
        return found

    def load(self, node: StackNode, dump: str, schema: str) -> list[str]:
        """Loads a dump with the servers' own client, to its end; the errors of its statements."""
        argv = ["mysql", "--defaults-file=/sandbox/root.cnf", "--force", "--binary-mode"]
        argv += ["-h", node.host, "-P", str(node.port), schema]
        done = self.stack.run(self.client, argv, dump, _DATA_S)
        return [line for line in done.stderr.splitlines() if line.startswith("ERROR ")]


def refusal_of(answer: QueryResult) -> Refusal | None:
    """The error of an answer, in the server's words; None without one."""
    if answer.error is None:
        return None
    found = _SAID.match(answer.error)
    return Refusal(answer.error_code, found[2] if found else answer.error)

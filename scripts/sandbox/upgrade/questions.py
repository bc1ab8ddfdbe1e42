"""Questions to both servers after the load: refused statements, plans, rows once more, times."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sandbox.stack.client_python import Statement
from sandbox.upgrade.findings import RowsAgain, UpgradeEvidence, rows_again
from sandbox.upgrade.plans import QueryPlan, can_be_explained, explain_of, plan_of, text_of
from sandbox.upgrade.refusals import Refusal
from sandbox.upgrade.replay import DistinctQuery
from sandbox.upgrade.servers import BothServers, refusal_of
from sandbox.upgrade.sql_text import kind_of, words
from sandbox.upgrade.two_sessions import TwoSessions

_PREPARE = "PREPARE sandbox_check FROM %s"
_NOT_CHANGED_BY_TIME = 1_500_000_000
"""Seconds since 1970 at which a query is asked again, where the log does not say when it ran."""


@dataclass(slots=True)
class Answered:
    """What the servers said, by fingerprint; on the older one, on the newer one."""

    refusals: dict[str, tuple[Refusal | None, Refusal | None]] = field(default_factory=dict)
    plans: dict[str, tuple[QueryPlan, QueryPlan]] = field(default_factory=dict)
    again: dict[str, RowsAgain] = field(default_factory=dict)
    times_ms: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of both servers. ``schema``: where the log says none."""

    servers: BothServers
    schema: str
    answered: Answered = field(default_factory=Answered)

    def ask_each_query(self, queries: Iterable[DistinctQuery]) -> list[str]:
        """Plan or refusal of each distinct query; the plans as lines of a file."""
        lines = []
        for query in queries:
            if can_be_explained(query.text):
                lines += self._explain(query)
            else:
                self._prepare(query)
        return lines

    def _explain(self, query: DistinctQuery) -> list[str]:
        servers = self.servers
        families = servers.family(servers.old), servers.family(servers.new)
        on_old, on_new = (explain_of(query.text, family) for family in families)
        old, new = servers.ask_each([on_old], [on_new], self._schema_of(query))
        refused = refusal_of(old), refusal_of(new)
        self.answered.refusals[query.fingerprint] = refused
        if refused != (None, None):
            said = [each.text if each else "taken" for each in refused]
            return [query.text, *self._lines(*said), ""]
        plans = plan_of(old.rows(0), families[0]), plan_of(new.rows(0), families[1])
        self.answered.plans[query.fingerprint] = plans
        return [query.text, *self._lines(*(text_of(plan) for plan in plans)), ""]

    def _lines(self, on_old: str, on_new: str) -> list[str]:
        return [f"  {self.servers.old.name}  {on_old}", f"  {self.servers.new.name}  {on_new}"]

    def _prepare(self, query: DistinctQuery) -> None:
        """Parsed, and not carried out. EXPLAIN takes few statements."""
        statement: Statement = (_PREPARE, (query.text,))
        old, new = self.servers.ask([statement], self._schema_of(query))
        self.answered.refusals[query.fingerprint] = refusal_of(old), refusal_of(new)

    def ask_rows_again(self, evidence: UpgradeEvidence) -> None:
        """Rows of the queries that differ, and of those of which pt-upgrade does not compare any:
        it takes a statement for a read if its first word is SELECT.
        """
        queries = evidence.queries
        seen = evidence.differing("rows")
        for key, difference in seen.items():
            self.answered.again[key] = self._rows_again(queries[key], evidence.example(difference))
        failed = evidence.differing("error", "failed")
        for key, query in queries.items():
            is_other_read = kind_of(query.text) == "read" and words(query.text)[:1] != ["SELECT"]
            if key not in seen and key not in failed and is_other_read:
                self.answered.again[key] = self._rows_again(query, query.text)

    def _rows_again(self, query: DistinctQuery, example: str) -> RowsAgain:
        time_s = int(query.first.time_s or _NOT_CHANGED_BY_TIME)
        asked = [f"SET timestamp = {time_s}", example]
        schema = self._schema_of(query)
        old, new = self.servers.ask(asked, schema)
        once_more = self.servers.ask_one(self.servers.old, asked, schema)
        found = [None if each.error else each.rows(1) for each in (old, once_more, new)]
        return rows_again(*found)

    def time_again(self, evidence: UpgradeEvidence, sessions: TwoSessions) -> None:
        """Times of the reads of which pt-upgrade says that they take ten times as long."""
        queries = evidence.queries
        for key, difference in evidence.differing("time").items():
            query = queries[key]
            if kind_of(query.text) != "read":
                continue
            example = evidence.example(difference)
            servers = self.servers
            fastest = sessions.fastest_ms(servers.old, servers.new, example, query.first.schema)
            if fastest is not None:
                self.answered.times_ms[key] = fastest

    def _schema_of(self, query: DistinctQuery) -> str:
        return query.first.schema or self.schema

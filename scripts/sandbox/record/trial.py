"""The part of a record about a trial: its steps, figures and verdicts, without the arrays that
they come from.
"""

from pydantic import BaseModel, ConfigDict, Field

Lasted = tuple[float, bool]
"""A length, and whether it was censored: still open when the watch ended, so that it is the length
seen.
"""


class TrialPart(BaseModel):
    """Base of what a record holds of a trial: no unknown keys, immutable."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class Lag(TrialPart):
    """Lag of one node from t0 to the end (docs/failover.md). ``integral_ms_s``: the area under it,
    ms × s.
    """

    max_ms: float
    integral_ms_s: float


class Figures(TrialPart):
    """Figures of one trial (docs/failover.md), all in ms; None where undefined: the prober had no
    such stream.

    ``outage_*`` and ``rto_ms`` are those of writes on pooled connections, ``rto_new_connection_ms``
    that of writes that each open one. An RTO is that of an outage which began while a fault was in
    effect or an action under way. The phase ``during`` lasts from t0 to the end of either stream's
    first outage or the last heal, whichever is latest; an injection without a heal counts with its
    own end.
    """

    outage_first_ms: float | None = None
    outage_first_began_ms: float | None = None
    """From t0; a little below 0 where the last write before came before t0. Absent in older
    records.
    """
    outage_longest_ms: float | None = None
    outage_total_ms: float | None = None
    rto_ms: float | None = None
    rto_new_connection_ms: float | None = None
    brownout_ms: float | None = None
    """From the RTO on. None also where one of 100 was not served before t0."""
    detection_ms: float | None = None
    """None where no other node noticed the fault while it lasted."""
    election_ms: float | None = None
    lag: dict[str, Lag]
    """By node; that of the writer is about 0."""
    censored: tuple[str, ...]
    """Names of the figures that are the length seen: still open at the end; also
    ``join_ms`` and the percentiles of the record's metrics."""
    no_outage: tuple[str, ...]
    """Names of the RTOs that are 0 because no outage began within a fault or an action."""
    resolution_ms: dict[str, float]
    """±, by the name of the figure."""
    threshold_ms: dict[str, float]
    """By stream: what a gap exceeds to be an outage."""
    longest_stall_ms: dict[str, float] = {}
    """By stream: the longest gap between acknowledged writes from t0 on that is not part of an
    outage with an RTO.
    """
    recovered_by_op: dict[str, int]
    """By the name of the RTO: the write that ended it."""
    recovered_by: dict[str, str | None] = {}
    """By the name of the RTO: the node that took that write; null where no row of it was read."""
    baseline_p99_ms: float | None
    lateness_p50_ms: float | None
    """This one and the next: how far the prober itself was behind before t0."""
    lateness_p99_ms: float | None
    missed: dict[str, int]
    """Slots that could not be sent, by stream; of the whole log."""
    errors_before: dict[str, dict[str, int]]
    """This one and the next two: ``writes`` and ``reads`` → error code → slots."""
    errors_during: dict[str, dict[str, int]]
    errors_after: dict[str, dict[str, int]]
    longest_block_ms: dict[str, float]
    """By stream: the longest run of slots that all failed, are unknown or were missed."""


class OpCount(TrialPart):
    """How many ops there are, and the first of them."""

    count: int
    examples: tuple[int, ...]


class ReadExample(TrialPart):
    """A row that a read did not return. ``age_ms``: the read's start − the acknowledgement; null
    where not known.
    """

    op: int
    node: str
    age_ms: float | None = None


class StaleReads(TrialPart):
    """Reads at the writer, or at readers, that missed a write acknowledged before they were
    sent.
    """

    reads: int
    """Reads that were answered at all."""
    stale: int
    above_1s: int
    """Stale reads that missed a write acknowledged more than 1 s before."""
    longest_age_ms: float | None
    """Null without a stale read."""
    examples: tuple[ReadExample, ...]
    """The oldest."""


class BackwardsReads(TrialPart):
    """Reads that did not return a row which an earlier one on the same node had returned."""

    count: int
    examples: tuple[ReadExample, ...]


class LedgerCounts(TrialPart):
    """The verdicts on a ledger (docs/failover.md); null where no node's rows, or not the writer's,
    could be read.
    """

    acked: int
    failed: int
    unknown: int
    rows: dict[str, int]
    """By node whose rows were read."""
    writer: str | None
    lost: OpCount | None
    lost_on_readers: dict[str, OpCount]
    """Acknowledged, but absent on a node that is not the writer."""
    phantom: OpCount | None
    duplicate: OpCount | None
    recovered: OpCount | None
    unknown_absent: OpCount | None
    unlisted: OpCount | None
    """On some node, but of no write in the log: the client died before it wrote the intent, or
    another one wrote.
    """
    divergent: OpCount | None
    """Ops whose rows are not the same on all nodes; null with fewer than two nodes."""
    missing_on: dict[str, OpCount]
    """On another node, but not on this one, whatever the log says."""
    split_brain: OpCount | None
    """Null where it does not apply or could not be judged: no election, or the rows that would show
    it are missing.
    """
    stale: dict[str, StaleReads]
    """``writer``: its stream's reads, where their nodes were seen to take writes; ``reader``: all
    others.
    """
    non_monotonic: BackwardsReads


class DriverRecord(TrialPart):
    """The driver that wrote and read beside the prober (docs/drivers.md)."""

    name: str
    mode: str
    version: str
    """As the driver reports it."""
    hosts: list[str]
    """The nodes that it was given, in that order."""
    connections: int
    rates: dict[str, int]
    """Slots in a second, by stream."""
    errors: dict[str, str]
    """Its own error codes, each with the text with which it came first."""
    figures: Figures
    ledger: LedgerCounts | None
    """Null in an interrupted trial, whose ledgers were not read."""


class TrialStep(TrialPart):
    """One step of a trial's schedule as it went, a fault or an action; times on the prober's clock,
    ms.
    """

    fault: str | None = None
    action: str | None = None
    target: str
    nodes: list[str]
    """The nodes that the target meant then."""
    options: dict[str, str | int | float | bool]
    at_s: float
    """When it was due, from the first acknowledged writes on."""
    began_ms: float
    ended_ms: float
    """When the injection was complete, or the action done or refused."""
    heal_began_ms: float | None = None
    """This one and the next: null for an action."""
    healed_ms: float | None = None
    gave_up: bool = False
    """Whether it was healed because writes had not come back within the limit: what was out then is
    censored there.
    """
    outcome: str | None = None
    """A sentence about an action: its deed, or why it was refused; null for a fault."""
    refused: bool = False
    """Whether an action was refused or failed."""

    @property
    def name(self) -> str:
        """The name of its fault or action."""
        return self.fault or self.action or ""


class WritersSeen(TrialPart):
    """From when on which nodes took writes, as the observers saw it; on the prober's clock."""

    at_ms: float
    nodes: list[str]


class TrialRecord(TrialPart):
    """The faults of a run, and the findings of the prober and its ledger (docs/failover.md); times
    on the prober's clock.
    """

    steps: list[TrialStep]
    t0_ms: float | None
    """Start of the first fault or action."""
    end_ms: float | None = None
    whole_ms: float | None = None
    """When every node was ready again and had caught up; null: not within the limit."""
    watched_ms: float | None = None
    """Until when it was watched whether they were; absent in older records."""
    direct: bool
    """Whether the prober knew all servers and tried the next one itself; else it went through one
    proxy.
    """
    rates: dict[str, int]
    """Slots in a second, by stream."""
    timeout_s: float
    load_rate_per_s: int | None = None
    """Null for an idle trial, and for a load without a rate."""
    transaction: bool = False
    """Whether each write of the prober was BEGIN, INSERT and COMMIT, and not an autocommit."""
    load_starts: int | None = None
    """How often the load was started; it ends with a lost connection. Null for an idle trial."""
    writers: list[WritersSeen] = Field(default_factory=list)
    moved: dict[str, str] = Field(default_factory=dict)
    """Nodes whose address changed, each with the new one."""
    clock_uncertainty_ms: float | None = None
    """Of t0 and of all that was done from outside, on the prober's clock."""
    figures: Figures | None = None
    """Null where the prober's log could not be judged; this one and the next."""
    ledger: LedgerCounts | None = None
    lost_members: dict[str, str] | None = None
    """Servers that did not come back by themselves when it had ended, each with its state. This
    one and the next: of repeated trials; null, and without the pattern, where nobody looked.
    """
    log_lines: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Pattern looked for in the servers' logs → server → its first line of the trial with it."""
    driver: DriverRecord | None = None
    """Null in a trial without one, and where its log could not be judged."""

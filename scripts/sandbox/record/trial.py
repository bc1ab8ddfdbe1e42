"""Figures and verdicts of a trial as Pydantic models: parts of a record, without the arrays they
come from.
"""

from pydantic import BaseModel, ConfigDict


class TrialPart(BaseModel):
    """Base of what a record holds of a trial: no unknown keys, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lag(TrialPart):
    """Lag of one node from t0 to the end (docs/failover.md). ``integral_ms_s``: the area under it,
    ms × s.
    """

    max_ms: float
    integral_ms_s: float


class Figures(TrialPart):
    """Figures of one trial (docs/failover.md), all in ms; None where undefined: the probe had no
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
    """This one and the next: how far the probe itself was behind before t0."""
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
    """That were answered at all."""
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

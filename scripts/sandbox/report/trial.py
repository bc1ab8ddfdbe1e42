"""PURE: what is said about a trial, one run without a verdict on a difference."""

from collections.abc import Iterator, Mapping, Sequence

from sandbox.judge.compare import lasted
from sandbox.measure.trial.observers import UNDATED
from sandbox.record.metrics import METRICS, in_group
from sandbox.record.record import Record
from sandbox.record.trial import StaleReads, TrialRecord, TrialStep
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.document import Document, Fact
from sandbox.report.driver import driver_facts
from sandbox.report.result import check_facts, run_document
from sandbox.report.text import UNKNOWN
from sandbox.report.trial_cells import LATER_MS, ms_text, only_healed

THRESHOLDS = {"rto_ms": "pooled", "rto_new_connection_ms": "fresh"}
"""RTO → the stream of writes that it is of."""
ONE_TRIAL = (
    "One trial has no interval: recovery time varies between trials. make matrix repeats them."
)


def trial_document(
    run: RunData, figures: Sequence[Figure] = (), command: Sequence[str] = (), when: str = ""
) -> Document:
    """A trial. ``command``: as typed; ``when``: start and end, as text."""
    record = run.record
    said = (trial_title(record), trial_question(record), single_trial_answer(record))
    note = ONE_TRIAL if record.trial is not None else ""
    return run_document(run, said, trial_facts(record), note, figures, command, when)


def trial_title(record: Record) -> str:
    """What broke, where, and which way the prober went."""
    entry, trial = record.workload.entry, record.trial
    names = (
        (step.name if step.action else f"{step.name} of {step.target}" for step in trial.steps)
        if trial
        else ()
    )
    return (
        f"{', '.join(dict.fromkeys(names)) or 'trial'} on {record.profile} through"
        f" {entry.via if entry else UNKNOWN}"
    )


def trial_facts(record: Record) -> Iterator[Fact]:
    """What was done, the times of the outage with their resolution, errors, the ledger, the
    checks.
    """
    trial = record.trial
    if trial is not None:
        for step in trial.steps:
            yield Fact("action" if step.action else "fault", step_text(step, trial))
        yield Fact("prober", _prober(trial))
        yield from _times(record, trial)
        yield from driver_facts(record, time_text)
        yield from _cluster(record)
        yield Fact("writers seen", _writers(trial))
        yield from _errors(trial)
        lost = trial.ledger.lost if trial.ledger else None
        yield Fact("ledger", ledger_text(trial), lost.count if lost else None)
        yield from _stale(trial)
    yield from check_facts(record)


def step_text(step: TrialStep, trial: TrialRecord) -> str:
    """``server-crash on galera1 (writer), in effect in 61 ms, healed 15.2 s later``; a later step
    with its time.
    """
    options = "".join(f" {name}={value}" for name, value in step.options.items())
    at = "" if trial.t0_ms in (None, step.began_ms) else f" at {_since(trial, step.began_ms)}"
    took_ms = step.ended_ms - step.began_ms
    if step.action is not None and step.outcome is None:
        return f"{step.name}{options}{at}, under way when the trial was interrupted"
    if step.action is not None:
        word = "not done after" if step.refused else "done in"
        return f"{step.name}{options}{at}, {word} {took_ms / 1000:.1f} s: {step.outcome or UNKNOWN}"
    healed = (
        "not healed"
        if step.healed_ms is None
        else f"healed {(step.healed_ms - step.began_ms) / 1000:.1f} s later"
    )
    healed += ", since writes were not back" if step.gave_up else ""
    where = f"{', '.join(step.nodes)} ({step.target})"
    return f"{step.name}{options} on {where}{at}, in effect in {took_ms:.0f} ms, {healed}"


def _since(trial: TrialRecord, at_ms: float) -> str:
    return f"{(at_ms - (trial.t0_ms or 0.0)) / 1000:+.1f} s"


def _prober(trial: TrialRecord) -> str:
    rates = trial.rates
    way = (
        "direct: it knows every server and tries the next" if trial.direct else "through the proxy"
    )
    load = "no load beside it"
    if trial.load_starts is not None:
        load = (
            f"load {trial.load_rate_per_s}/s beside it"
            if trial.load_rate_per_s
            else "an unlimited load beside it"
        )
    writes = (
        f"{rates.get('pooled', 0)} writes/s pooled, {rates.get('fresh', 0)}/s on new connections"
    )
    writes += ", each BEGIN … COMMIT" if trial.transaction else ""
    reads = f"{rates.get('writer', 0)} + {rates.get('reader', 0)} reads/s"
    return f"{writes}, {reads}, {way}; time-out {trial.timeout_s:g} s; {load}"


def _times(record: Record, trial: TrialRecord) -> Iterator[Fact]:
    for name in in_group("failover"):
        title = METRICS[name].title
        if (found := lasted(record, name)) is not None:
            text = time_text(*found, name, trial) + _circumstances(record, name)
            yield Fact(title, text, found[0])
        elif name == "lag_max_ms" and any(step.fault == UNDATED for step in trial.steps):
            why = "rows are dated by the clocks of the servers, and one was wrong"
            yield Fact(title, f"{UNKNOWN}: {why}")


def _circumstances(record: Record, name: str) -> str:
    """Which node took the write that ended an outage, and whether only the heal did; when the first
    one began.
    """
    if name == "outage_first_ms":
        return _began(record)
    figures = record.trial.figures if record.trial else None
    node = figures.recovered_by.get(name) if figures and name not in figures.censored else None
    taken = f", by {node}" if node else ""
    return taken + (", once it was healed" if node and only_healed(record) else "")


def _began(record: Record) -> str:
    """When the first outage began, where an RTO that counts from t0 would make it look longer than
    it was.
    """
    began_ms = _late_ms(record)
    return f", began at {began_ms / 1000:+.1f} s" if began_ms is not None else ""


def _late_ms(record: Record) -> float | None:
    """From t0 to the begin of the first outage, where that is long; else None."""
    figures = record.trial.figures if record.trial else None
    began_ms = figures.outage_first_began_ms if figures else None
    if began_ms is None:  # an older record
        rto, first = lasted(record, "rto_ms"), lasted(record, "outage_first_ms")
        began_ms = rto[0] - first[0] if rto and first else 0.0
    return began_ms if began_ms >= LATER_MS else None


def _cluster(record: Record) -> Iterator[Fact]:
    """Pauses and queues of a cluster, and the load beside the prober, where they are known."""
    metrics = record.metrics
    texts = {
        "flow_control_paused_percent": "{:g} % of the time until the heal",
        "queue_max": "{:,} transactions received and not yet applied",
        "load_tps_change_percent": "{:+.0f} % transactions per second until the heal",
    }
    for name in in_group("cluster"):
        metric = METRICS[name]
        if (value := getattr(metrics, name)) is not None:
            text = texts.get(name, f"{{:,}} {metric.unit}")
            yield Fact(metric.title, text.format(value), value)


def time_text(value_ms: float, still_open: bool, name: str, trial: TrialRecord) -> str:
    """``2,310 ms (± 10)``; ``at least 60,000 ms (still open at the end)``; ``no outage above 50
    ms``.
    """
    if still_open:
        out = name.startswith(("rto", "outage")) and any(step.gave_up for step in trial.steps)
        return (
            f"at least {ms_text(value_ms)} ms (still open"
            f" {'when it was healed' if out else 'at the end'})"
        )
    if name in THRESHOLDS and value_ms == 0:
        return _no_outage(name, trial)
    resolutions = trial.figures.resolution_ms if trial.figures else {}
    resolution = resolutions.get("lag" if name.startswith("lag") else name)
    return f"{ms_text(value_ms)} ms" + (f" (± {resolution:,.0f})" if resolution else "")


def _no_outage(name: str, trial: TrialRecord) -> str:
    """``no outage; longest stall 61 ms``: of writes that nothing broken kept out."""
    figures, stream = trial.figures, THRESHOLDS[name]
    stall_ms = figures.longest_stall_ms.get(stream) if figures else None
    if figures and stall_ms:
        came_later = name == "rto_ms" and bool(figures.outage_longest_ms)
        nothing = "no outage while it was broken" if came_later else "no outage"
        return f"{nothing}; longest stall {ms_text(stall_ms)} ms"
    least_ms = figures.threshold_ms.get(stream) if figures else None
    return "no outage" + (f" above {ms_text(least_ms)} ms" if least_ms else "")


def _writers(trial: TrialRecord) -> str:
    seen = [
        f"{' + '.join(each.nodes) or 'none'} ({_since(trial, each.at_ms)})"
        for each in trial.writers
    ]
    return ", ".join(seen) or UNKNOWN


def _errors(trial: TrialRecord) -> Iterator[Fact]:
    """By phase, of writes and reads; before the fault there should be none."""
    for phase in ("before", "during", "after"):
        counts = getattr(trial.figures, f"errors_{phase}", {})
        text = "; ".join(
            f"{kind} {_counts(by_code)}" for kind, by_code in counts.items() if by_code
        )
        if text or phase == "during":
            yield Fact(f"errors {phase}", text or "none")


def _counts(by_code: Mapping[str, int]) -> str:
    return ", ".join(f"{code}: {count:,}" for code, count in by_code.items())


def ledger_text(trial: TrialRecord) -> str:
    """How many acknowledged writes there are, and what became of them."""
    ledger = trial.ledger
    if ledger is None:
        return UNKNOWN
    named = {name: getattr(ledger, name) for name in ("lost", "phantom", "duplicate", "recovered")}
    found = ", ".join(
        f"{UNKNOWN if each is None else format(each.count, ',')} {name}"
        for name, each in named.items()
    )
    return (
        f"{ledger.acked:,} acknowledged, {ledger.failed:,} failed, {ledger.unknown:,} unknown:"
        f" {found}"
    )


def _stale(trial: TrialRecord) -> Iterator[Fact]:
    """Of each stream of reads that was answered."""
    streams = trial.ledger.stale if trial.ledger else {}
    found = [f"{name} {stale_text(reads)}" for name, reads in streams.items() if reads.reads]
    if found:
        yield Fact("stale reads", "; ".join(found))


def stale_text(reads: StaleReads) -> str:
    """``12 of 9,800, the oldest by 340 ms``."""
    age = (
        f", the oldest by {ms_text(reads.longest_age_ms)} ms"
        if reads.longest_age_ms is not None
        else ""
    )
    old = f", {reads.above_1s:,} by more than 1 s" if reads.above_1s else ""
    return f"{reads.stale:,} of {reads.reads:,}{age}{old}"


def trial_question(record: Record) -> str:
    """The question that a trial answers."""
    return f"How long are writes out on {record.profile}, and is anything acknowledged lost?"


def single_trial_answer(record: Record) -> str:
    """When writes were back, and whether acknowledged ones were lost, in two sentences."""
    trial = record.trial
    if record.status != "ok" or trial is None:
        return f"{record.status}: {record.reason or 'reason unknown'}."
    return f"{_back(record, trial)} {_lost(trial)}"


def _back(record: Record, trial: TrialRecord) -> str:
    found = lasted(record, "rto_ms")
    if found is None:
        return "Whether writes were out is unknown."
    text = time_text(*found, "rto_ms", trial)
    if found[1]:
        gave_up = ", when the fault was healed" if any(step.gave_up for step in trial.steps) else ""
        return f"Writes were not back within {ms_text(found[0])} ms{gave_up}."
    if found[0] == 0:
        return f"Writes had {text}."
    late_ms, first = _late_ms(record), lasted(record, "outage_first_ms")
    if late_ms is not None and first is not None:
        out = time_text(*first, "outage_first_ms", trial)
        return (
            f"Writes were out for {out}, from {late_ms / 1000:+.1f} s"
            f" on{_circumstances(record, 'rto_ms')}."
        )
    return f"Writes were back after {text}{_circumstances(record, 'rto_ms')}."


def _lost(trial: TrialRecord) -> str:
    ledger = trial.ledger
    if ledger is None or ledger.lost is None:
        return "Whether acknowledged writes were lost is unknown."
    if not ledger.lost.count:
        return f"None of {ledger.acked:,} acknowledged writes was lost."
    return f"{ledger.lost.count:,} of {ledger.acked:,} acknowledged writes were lost."

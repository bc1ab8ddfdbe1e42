"""The tables of a matrix of trials: each figure by hand, on a terminal, in Markdown, in no
bench.
"""

from sandbox.record.record import CheckRecord, Metrics, Record
from sandbox.report.document import NOTHING, Document, Section, Table
from sandbox.report.matrix_notes import matrix_notes
from sandbox.report.render import terminal
from sandbox.report.trial_matrix import trial_notes, trial_tables
from unit.record.samples import sample_record
from unit.report.made_up import summary, verdict_lines
from unit.report.made_up_trials import COMMAND, cell_name, judged, part, records, trial_record

CRASH, LOSS = (
    cell_name("galera", "haproxy", "server-crash"),
    cell_name("gr", "haproxy", "host-loss"),
)


def rows(title: str, found: list[Record] | None = None) -> dict[tuple[str, ...], dict[str, str]]:
    """Row by its levels → column → text."""
    tables = {
        table.title: table for table in trial_tables(part(), records() if found is None else found)
    }
    table = tables[title]
    names = table.names
    assert table.headings[:names] == ["topology", "proxy", "fault"]
    return {
        tuple(row[:names]): dict(zip(table.headings[names:], row[names:], strict=True))
        for row in table.texts
    }


def test_outages_by_hand() -> None:
    found = rows("Outage of writes, ms")
    assert len(found) == 9
    assert found["galera", "haproxy", "server-crash"] == {
        "trials": "10",
        "RTO": "3,600",
        "95 % interval": "2,900 … 4,300",
        "longest": "4,500",
        "still out": "0",
        "once healed": "",
        "first outage": "",
    }
    assert found["gr", "haproxy", "host-loss"] == {
        "trials": "10",
        "RTO": "≥ 60,000",
        "95 % interval": "4,100 … open",
        "longest": "≥ 60,000",
        "still out": "8",
        "once healed": "",
        "first outage": "",
    }
    assert found["galera", "canary", "host-loss"]["RTO"] == "10,650"


def test_an_rto_that_counts_the_time_until_a_late_outage_has_the_length_of_that_beside_it() -> None:
    late = [
        each.model_copy(
            update={"metrics": each.metrics.model_copy(update={"outage_first_ms": 90.0})}
        )
        for each in records()
    ]
    found = rows("Outage of writes, ms", late)["galera", "haproxy", "server-crash"]
    assert (found["RTO"], found["first outage"]) == ("3,600", "90")


def test_recovery_by_hand() -> None:
    found = rows("Recovery, ms")["galera", "haproxy", "server-crash"]
    assert found == {
        "RTO, new conn.": "3,640",
        "detected": "1,800",
        "election": "3,100",
        "brownout": "3,000",
        "redundancy restored": "25,006",
        "largest lag": "340",
        "write errors": "360",
        "read errors": "180",
    }
    lost = rows("Recovery, ms")["gr", "haproxy", "host-loss"]
    assert lost["RTO, new conn."] == "≥ 60,040" and lost["redundancy restored"] == "≥ 60,000"


def test_every_time_that_is_judged_has_a_column() -> None:
    plan = part(
        metrics=[
            "join_ms",
            "outage_total_ms",
            "outage_longest_ms",
            "rto_ms",
            "latency_p95_ms",
            "write_errors",
        ]
    )
    found = [
        each.model_copy(
            update={
                "metrics": each.metrics.model_copy(
                    update={"join_ms": 6_200.0, "latency_p95_ms": 9.5}
                )
            }
        )
        for each in records()
    ]
    (table,) = [each for each in trial_tables(plan, found) if each.title == "Recovery, ms"]
    row = dict(zip(table.headings, table.texts[2], strict=True))
    assert (row["joined again"], row["latency p95"]) == ("6,200", "9.5")
    assert row["all outages"] == row["longest outage"] == "3,590" and "RTO" not in row
    assert max(map(len, verdict_lines(plan, judged(found, plan), found))) <= 100


def test_what_a_fault_does_to_a_cluster_by_hand() -> None:
    assert "Flow control and load" not in {table.title for table in trial_tables(part(), records())}
    found = []
    for block, paused in enumerate((10.0, 30.0, 90.0), 1):
        metrics = Metrics(
            flow_control_paused_percent=paused, queue_max=10 * block, load_tps_change_percent=-40
        )
        found.append(trial_record(cell=CRASH, block=block, metrics=metrics))
    flow = rows("Flow control and load", found)["galera", "haproxy", "server-crash"]
    assert flow == {"paused %": "30", "largest queue": "20", "load %": "-40"}


def test_the_ledger_by_hand() -> None:
    found = rows("Ledger, all trials")
    assert found["galera", "haproxy", "host-loss"] == {
        "acked": "10,000",
        "failed": "200",
        "unknown": "300",
        "lost": "3",
        "phantom": "0",
        "duplicate": "0",
        "stale at writer": "0 of 9,000",
        "stale at readers": "120 of 8,000",
    }
    assert found["galera", "haproxy", "server-crash"]["lost"] == "0"


def test_a_ledger_that_could_not_be_judged_is_unknown_and_no_zero() -> None:
    two = [trial_record(cell=CRASH, block=1, lost=None), trial_record(cell=CRASH, block=2, lost=1)]
    assert (
        rows("Ledger, all trials", two)["galera", "haproxy", "server-crash"]["lost"]
        == "1 (1 trial unknown)"
    )
    none = [trial_record(cell=CRASH, lost=None)]
    assert (
        rows("Ledger, all trials", none)["galera", "haproxy", "server-crash"]["lost"] == "unknown"
    )
    bare = none[0].model_copy(
        update={"trial": none[0].trial and none[0].trial.model_copy(update={"ledger": None})}
    )
    found = rows("Ledger, all trials", [bare])
    assert set(found["galera", "haproxy", "server-crash"].values()) == {"unknown"}
    assert set(found["gr", "direct", "host-loss"].values()) == {""}, "no trial at all"


def test_checks_that_failed_anywhere_are_counted_everywhere() -> None:
    found = rows("Checks that failed")
    assert found["galera", "haproxy", "host-loss"] == {"lost": "1 of 10"}, "phantom failed nowhere"
    assert found["gr", "direct", "server-crash"] == {"lost": "0 of 10"}
    mixed = [
        trial_record(cell=CRASH, block=block, lost=lost)
        for block, lost in ((1, 2), (2, 0), (3, None))
    ]
    assert rows("Checks that failed", mixed)["galera", "haproxy", "server-crash"] == {
        "lost": "1 of 2, 1 unknown"
    }


def test_without_a_failed_check_there_is_no_table_of_them() -> None:
    clean = [trial_record(cell=CRASH, block=block) for block in range(1, 11)]
    assert "Checks that failed" not in [table.title for table in trial_tables(part(), clean)]
    failed = [CheckRecord(name="divergence", verdict="fail", detail="galera3 lacks 2")]
    one = clean[0].model_copy(update={"checks": failed})
    assert rows("Checks that failed", [one, *clean[1:]])["galera", "haproxy", "server-crash"] == {
        "divergence": "1 of 1"
    }


def test_few_trials_are_labelled_and_too_few_have_no_verdict() -> None:
    few = [each for each in records() if each.block <= {CRASH: 8, LOSS: 5}.get(each.cell, 10)]
    assert trial_notes(part(), few) == [
        f"fewer than 6 trials, so no verdict: {LOSS} (5)",
        f"fewer than 10 trials: {CRASH} (8)",
    ]
    assert matrix_notes(part(), judged(few), few)[:2] == trial_notes(part(), few)
    found = rows("Outage of writes, ms", few)
    assert found["galera", "haproxy", "server-crash"]["trials"] == "8 (few)"
    assert found["gr", "haproxy", "host-loss"]["trials"] == "5 (no verdict)"
    assert found["gr", "haproxy", "host-loss"]["95 % interval"] == "fewer than 6 trials"
    assert trial_notes(part(), records()) == []


def test_a_bench_has_none_of_this() -> None:
    assert (
        trial_tables(part(), [sample_record()]) == []
        and trial_notes(part(), [sample_record()]) == []
    )


def test_a_wide_table_is_split_with_its_names_in_front() -> None:
    wide = Table.of(
        ["cell", "aaaa", "empty", "bbbb", "cccc"],
        [["x", "1", "", "2", "3"]],
        "T",
        "note",
        numbers=4,
    )
    shown = Document(NOTHING, [Section([wide])])
    pieces = [
        "T   note",
        "  cell  aaaa  bbbb",
        "  x     1     2",
        "",
        "T (more)",
        "  cell  cccc",
        "  x     3",
    ]
    assert terminal.lines(shown, width=18) == pieces
    assert terminal.lines(shown) == [
        "T   note",
        "  cell  aaaa  bbbb  cccc",
        "  x     1     2     3",
    ]


def test_a_terminal_shows_them_within_its_width() -> None:
    lines = verdict_lines(part(), judged(), records())
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    assert "Outage of writes, ms   RTO: from the first injection" in text
    row = next(line for line in lines if "4,100 … open" in line)
    assert " ".join(row.split()) == "gr haproxy host-loss 10 ≥ 60,000 4,100 … open ≥ 60,000 8"
    assert "worse (8 + 2 open)" in text and "log-rank p" in text and "make calibrate" not in text


def test_the_summary_has_the_same_tables() -> None:
    text = summary(part(), judged(), records(), COMMAND)
    for each in trial_tables(part(), records()):
        assert f"### {each.title}\n" in text and each.note in text
        for row in each.texts:
            assert f"| {' | '.join(row)} |" in text
    assert "in each a trial of every cell on a fresh stack" in text and "warm-up" not in text
    assert "| adj. p | MDE | log-rank p | verdict |" in text

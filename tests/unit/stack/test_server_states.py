"""The words for what servers say of themselves: a table, with answers as real servers gave them."""

import pytest

from sandbox.stack.server_states import ready_in_words, server_states
from sandbox.stack.server_status import ServerFacts, ServerStatus, facts_from, reason_in

EVICTED_LOG = """\
2026-11-29  2:14:09 0 [Note] WSREP: Recovering vote result from history: 6da45374-eb9a-11f1-b06d-ffcd946310db:3,ee3a
2026-11-29  2:14:09 20 [ERROR] WSREP: Inconsistency detected: Inconsistent by consensus on 6da45374-eb9a-11f1-b06d:3
\t at ./galera/src/replicator_smm.cpp:process_apply_error():1345
2026-11-29  2:14:10 0 [Note] WSREP: RECV thread exiting 0: Success
"""  # noqa: E501
WHY_EVICTED = "Inconsistent by consensus on 6da45374-eb9a-11f1-b06d:3"
APPLIER = (
    "error 1032: Worker 2 failed executing transaction '4c6b9318-4828-40c7-9670-edeaab63137d:5';"
    " Could not execute Delete_rows event on table sbtest.c; Can't find record in 'c', Error_code:"
    " 1032"
)
ALL = "galera1:0,galera2:0,galera3:0"


def galera(
    size: int, status: str, number: int, comment: str = "", log: str = "", **more: str
) -> ServerFacts:
    said = {
        "wsrep_cluster_size": str(size),
        "wsrep_cluster_status": status,
        "wsrep_local_state": str(number),
        "wsrep_local_state_comment": comment,
        "wsrep_incoming_addresses": ALL if size == 3 else "galera2:0,galera3:0",
        "wsrep_ready": "ON",
        **more,
    }
    return ServerFacts("galera", 3, status=said, log=log)


def member(state: str, members: str, log: str = "", **more: str) -> ServerFacts:
    return ServerFacts(
        "gr", 3, status={"state": state, "members": members, "queue": "0", **more}, log=log
    )


def replica(log: str = "", role: str = "reader", **fields: str) -> ServerFacts:
    row = {
        "Source_Host": "mysql1",
        "Replica_IO_Running": "Yes",
        "Replica_SQL_Running": "Yes",
        "Last_IO_Errno": "0",
        "Last_SQL_Errno": "0",
        "Last_IO_Error": "",
        "Last_SQL_Error": "",
        "Seconds_Behind_Source": "0",
        "SQL_Delay": "0",
    }
    return ServerFacts("single", 1, status={}, channels=[row | fields], role=role, log=log)


def in_words(facts: ServerFacts) -> ServerStatus:
    """The state of a server that has no peers."""
    return server_states({"it": facts})["it"]


@pytest.mark.parametrize(
    ("facts", "word", "reason", "repair"),
    [
        (galera(3, "Primary", 4, "Synced"), "synced", "", ""),
        (galera(2, "Primary", 4, "Synced"), "2 of 3 members", "", ""),
        (
            galera(0, "Disconnected", 5, "Inconsistent", EVICTED_LOG),
            "evicted",
            WHY_EVICTED,
            "restart",
        ),
        (galera(0, "Disconnected", 5), "evicted", "its data differs", "restart"),
        (galera(0, "Disconnected", 0), "left", "its provider is not connected", "restart"),
        (
            galera(
                0,
                "Disconnected",
                0,
                log="x [ERROR] WSREP: Process completed with error: wsrep_sst_mariabackup: 2",
            ),
            "left",
            "Process completed with error: wsrep_sst_mariabackup: 2",
            "restart",
        ),
        (galera(1, "non-Primary", 0), "non-primary", "sees 1 of 3 members, no quorum", "wait"),
        (
            galera(3, "Primary", 1, wsrep_local_recv_queue="12"),
            "joiner",
            "12 write sets to apply",
            "wait",
        ),
        (
            galera(3, "Primary", 1, wsrep_ist_receive_status="66% complete"),
            "joiner",
            "66% complete",
            "wait",
        ),
        (
            galera(3, "Primary", 1, log="WSREP: Receiving IST:  66.7% ( 2/3 events)"),
            "joiner",
            "incremental state transfer (IST), 66.7% received",
            "wait",
        ),
        (galera(3, "Primary", 3), "joined", "catching up", "wait"),
        (galera(3, "Primary", 4, wsrep_ready="OFF"), "not ready", "wsrep_ready is OFF", "wait"),
    ],
)
def test_a_node_of_galera(facts: ServerFacts, word: str, reason: str, repair: str) -> None:
    assert in_words(facts) == ServerStatus(word, reason, in_words(facts).view, repair)  # type: ignore[arg-type]


def test_a_donor_has_a_joiner() -> None:
    donor = galera(3, "Primary", 2, "Donor/Desynced")
    joiner = ServerFacts(
        "galera", 3, error="nothing listens on port 3306 yet", log="WSREP_SST: [INFO] Streaming SST"
    )
    states = server_states(
        {"galera1": donor, "galera2": galera(3, "Primary", 4), "galera3": joiner}
    )
    assert states["galera1"].text == "donor: for galera3"
    assert states["galera3"].text == "joiner: full state transfer (SST)"
    assert in_words(donor).text == "desynced: it serves no joiner now"


ONLINE = "gr1 ONLINE PRIMARY,gr2 ONLINE SECONDARY,gr3 ONLINE SECONDARY"
CUT_OFF = "gr1 ONLINE PRIMARY,gr2 UNREACHABLE SECONDARY,gr3 UNREACHABLE SECONDARY"
EXPELLED = (
    "Z 0 [ERROR] [MY-011505] [Repl] Plugin group_replication reported: 'Member was expelled from"
    " the group due to x'"
)


@pytest.mark.parametrize(
    ("facts", "word", "reason", "repair"),
    [
        (member("ONLINE", ONLINE), "ONLINE", "", ""),
        (member("ONLINE", "gr1 ONLINE PRIMARY"), "1 of 3 members", "", ""),
        (
            member("ONLINE", ONLINE.replace("gr3 ONLINE", "gr3 UNREACHABLE")),
            "2 of 3 members",
            "gr3 UNREACHABLE",
            "",
        ),
        (member("ONLINE", CUT_OFF), "blocked", "no majority: gr2, gr3 UNREACHABLE", "wait"),
        (
            member("RECOVERING", ONLINE, queue="17"),
            "RECOVERING",
            "17 transactions to apply",
            "wait",
        ),
        (member("OFFLINE", ""), "OFFLINE", "it is in no group", "restart"),
        (member("OFFLINE", "", applier_error=APPLIER), "OFFLINE", APPLIER, "rebuild"),
        (member("ERROR", "", applier_error=APPLIER), "ERROR", APPLIER, "rebuild"),
        (
            member("ERROR", "", applier_error="error 3: no space left"),
            "ERROR",
            "error 3: no space left",
            "restart",
        ),
        (
            member("ERROR", "", log=EXPELLED),
            "expelled",
            "Member was expelled from the group due to x",
            "restart",
        ),
        (
            ServerFacts("gr", 3, error="no answer within 7 s", log=f"x [ERROR] {APPLIER}"),
            "leaving",
            APPLIER[12:],
            "rebuild",
        ),
    ],
)
def test_a_member_of_group_replication(
    facts: ServerFacts, word: str, reason: str, repair: str
) -> None:
    state = in_words(facts)
    assert (state.word, state.reason, state.repair) == (word, reason, repair)


def test_members_whose_views_differ_say_who_sees_whom() -> None:
    states = server_states(
        {
            "gr1": member("ONLINE", "gr1 ONLINE PRIMARY"),
            "gr2": member("ONLINE", "gr2 ONLINE PRIMARY,gr3 ONLINE SECONDARY"),
            "gr3": member("ONLINE", "gr2 ONLINE PRIMARY,gr3 ONLINE SECONDARY"),
        }
    )
    assert states["gr1"].word == "split view" and not states["gr1"].is_well
    assert states["gr1"].reason == "views differ: sees gr1; gr2 sees gr2, gr3; gr3 sees gr2, gr3"
    assert states["gr2"].reason == "views differ: sees gr2, gr3; gr1 sees gr1"


@pytest.mark.parametrize(
    ("facts", "text", "repair"),
    [
        (replica(), "replicating: from mysql1", ""),
        (replica(Seconds_Behind_Source="7"), "lagging: 7 s behind mysql1", ""),
        (
            replica(SQL_Delay="60", Seconds_Behind_Source="59"),
            "delayed: by 60 s, 59 s behind mysql1",
            "",
        ),
        (
            replica(
                Replica_SQL_Running="No",
                Last_SQL_Errno="1032",
                Last_SQL_Error="Can't find record in 'c'",
            ),
            "stopped: applier, error 1032: Can't find record in 'c'",
            "rebuild",
        ),
        (
            replica(
                Replica_SQL_Running="No",
                Last_SQL_Errno="1032",
                Worker_Errno="1032",
                Worker_Error="Worker 2 failed",
            ),
            "stopped: applier, error 1032: Worker 2 failed",
            "rebuild",
        ),
        (
            replica(Replica_SQL_Running="No", Last_SQL_Errno="1030", Last_SQL_Error="disk full"),
            "stopped: applier, error 1030: disk full",
            "rejoin",
        ),
        (
            replica(Replica_SQL_Running="No"),
            "stopped: its applier was stopped, without an error",
            "rejoin",
        ),
        (
            replica(Replica_IO_Running="No"),
            "stopped: its receiver was stopped, without an error",
            "rejoin",
        ),
        (
            replica(Replica_IO_Running="No", Last_IO_Errno="1236", Last_IO_Error="purged"),
            "stopped: receiver, error 1236: purged",
            "rebuild",
        ),
        (
            replica(Replica_IO_Running="Connecting", Last_IO_Errno="2003", Last_IO_Error="refused"),
            "connecting: to mysql1, error 2003: refused",
            "wait",
        ),
        (
            replica(role="stale: writable, but replica1 is the writer"),
            "stale: writable, but replica1 is the writer",
            "rejoin",
        ),
        (
            ServerFacts(
                "single",
                status={},
                role="detached: read-only and follows nobody; replica1 is the writer",
            ),
            "detached: read-only and follows nobody; replica1 is the writer",
            "rejoin",
        ),
        (ServerFacts("single", status={}, role="writer"), "running", ""),
        (replica(role="writer", Replica_IO_Running="No", Replica_SQL_Running="No"), "running", ""),
        (ServerFacts("single", container="exited (137)"), "down: exited (137)", "wait"),
        (ServerFacts("single", container="paused"), "frozen", "wait"),
        (
            ServerFacts("single", error="nothing listens on port 3306 yet"),
            "starting: nothing listens on port 3306 yet",
            "wait",
        ),
        (
            ServerFacts(
                "single",
                error="nothing listens on port 3306 yet",
                log="InnoDB: Starting crash recovery from x",
            ),
            "recovering: crash recovery",
            "wait",
        ),
        (
            ServerFacts(
                "single",
                error="no answer within 7 s",
                log="Starting crash recovery\nready for connections.",
            ),
            "no answer: no answer within 7 s",
            "wait",
        ),
    ],
)
def test_a_server_of_asynchronous_replication(facts: ServerFacts, text: str, repair: str) -> None:
    state = in_words(facts)
    assert (state.text, state.repair) == (text, repair)


def test_the_worst_channel_counts() -> None:
    broken = replica(
        Replica_SQL_Running="No", Last_SQL_Errno="1062", Last_SQL_Error="Duplicate"
    ).channels
    facts = ServerFacts("single", status={}, channels=[*broken, *replica().channels], role="reader")
    assert in_words(facts).repair == "rebuild"


def linked(topology: str, *rows: dict[str, str]) -> tuple[str, ...]:
    """What a server says of its link `late` from another group."""
    row = {"Source_Host": "mysql1", "Channel_Name": "late", "Last_SQL_Errno": "0"}
    running = {"Replica_IO_Running": "Yes", "Replica_SQL_Running": "Yes"}
    channels = [row | running | each for each in rows]
    facts = ServerFacts(topology, status={}, channels=channels, links=frozenset({"late"}))
    return server_states({"a": facts})["a"].links


def test_links_from_other_groups_stand_beside_the_state_and_do_not_change_it() -> None:
    ahead = {"Seconds_Behind_Source": "0"}
    assert linked("single", ahead) == ("replicates from mysql1 (channel late)",)
    late = {"SQL_Delay": "30", "Seconds_Behind_Source": "4"}
    assert linked("single", late) == (
        "replicates from mysql1 (channel late), delayed by 30 s, 4 s behind",
    )
    failed = {"Replica_SQL_Running": "No", "Last_SQL_Errno": "1062", "Last_SQL_Error": "Duplicate"}
    (said,) = linked("single", failed)
    assert said == (
        "does not replicate from mysql1 (channel late): stopped: applier, error 1062: Duplicate"
    )
    broken = replica(role="writer", **failed)
    channels = [{**row, "Channel_Name": "late"} for row in broken.channels]
    facts = ServerFacts("single", status={}, channels=channels, links=frozenset({"late"}),
                        role="writer")  # fmt: skip
    assert server_states({"a": facts})["a"].word == "running"


def test_a_member_that_leaves_a_link_to_another_one_says_nothing_of_it() -> None:
    idle = {"Replica_IO_Running": "No", "Replica_SQL_Running": "No"}
    assert linked("galera", idle) == ()
    assert len(linked("single", idle)) == 1


def test_older_words_are_understood() -> None:
    answer = (
        "*************************** 1. row ***************************\n"
        "               Slave_IO_State: Waiting for source\n"
        "                  Master_Host: mariadb1\n"
        "             Slave_IO_Running: Yes\n"
        "            Slave_SQL_Running: No\n"
        "               Last_SQL_Errno: 4025\n"
        "               Last_SQL_Error: CONSTRAINT `t.a` failed\n"
    )
    status, channels = facts_from(answer)
    facts = ServerFacts("single", status=status, channels=channels, role="reader")
    assert in_words(facts) == ServerStatus(
        "stopped", "applier, error 4025: CONSTRAINT `t.a` failed", ("mariadb1",), "rebuild"
    )


def test_an_answer_of_names_and_values() -> None:
    status, channels = facts_from(
        "WSREP_CLUSTER_SIZE\t2\nWSREP_INCOMING_ADDRESSES\tgalera2:0,galera3:0\n"
    )
    assert (status["wsrep_cluster_size"], channels) == ("2", [])


@pytest.mark.parametrize(
    ("topology", "answer", "words"),
    [
        ("galera", "3,Primary,4", "synced, 3 members"),
        ("galera", "2,Primary,4", "2 of 3 members"),
        ("galera", "0,Disconnected,5", "evicted"),
        ("galera", "nothing listens on port 3306 yet", "nothing listens on port 3306 yet"),
        ("gr", "3,1,1", "ONLINE, 3 members, 1 PRIMARY"),
        ("gr", "1,1,1", "1 of 3 members ONLINE"),
        ("gr", "NULL,NULL,NULL", "0 of 3 members ONLINE"),
        ("single", "writer", "writer"),
        (None, "routed", "routed"),
    ],
)
def test_answers_about_readiness_are_put_into_words(
    topology: str | None, answer: str, words: str
) -> None:
    assert ready_in_words(topology, 3, answer) == words


def test_a_log_without_a_reason_has_none() -> None:
    assert (
        reason_in(
            "2:14:09 [Note] WSREP: gcomm: closed\n2:14:10 [ERROR] mariadbd: something else",
            "galera",
        )
        == ""
    )
    assert reason_in("", "gr") == ""
    assert len(reason_in(f"x [ERROR] WSREP: {'a' * 900}", "galera")) == 300


OFFLINE = member("OFFLINE", "")


@pytest.mark.parametrize(
    ("peers", "repair"),
    [
        ((OFFLINE, OFFLINE), "wait"),
        ((OFFLINE, ServerFacts("gr", 3, error="nothing listens on port 3306 yet")), "wait"),
        ((OFFLINE, member("ONLINE", "a ONLINE PRIMARY")), "restart"),
    ],
)
def test_members_in_no_group_wait_only_while_there_is_none_to_join(
    peers: tuple[ServerFacts, ServerFacts], repair: str
) -> None:
    """All were killed: their forming scripts make a new group, once every member answers."""
    states = server_states({"gr1": OFFLINE, "gr2": peers[0], "gr3": peers[1]})
    assert states["gr1"].repair == repair
    assert (states["gr1"].reason == "the group has not formed yet") == (repair == "wait")

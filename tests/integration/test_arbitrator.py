"""Two Galera servers and an arbitrator: one of them is lost, and the other keeps its quorum."""

import pytest

from integration.live import live_stack

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]
VIEW = (
    "select group_concat(variable_value order by variable_name)"
    " from information_schema.global_status"
    " where variable_name in ('wsrep_cluster_size', 'wsrep_cluster_status')"
)


@pytest.mark.long
def test_a_server_keeps_its_quorum_by_the_arbitrator() -> None:
    with live_stack("galera2@11.8+garbd") as stack:
        assert stack.sql("galera1", VIEW) == "3,Primary"
        assert "arbitrator" in {node["kind"] for node in stack.data()}
        stack.kill("galera1")
        stack.wait_until(lambda: stack.sql("galera2", VIEW) == "2,Primary")
        stack.sql("galera2", "create table sbtest.kept (id int primary key)")
        stack.start()
        assert stack.sql("galera1", "select count(*) from sbtest.kept") == "0"
        stack.kill("garbd1")
        stack.wait_until(lambda: stack.sql("galera1", VIEW) == "2,Primary")
        stack.start()
        assert stack.sql("galera2", VIEW) == "3,Primary"


@pytest.mark.long
def test_a_cluster_that_was_stopped_forms_again_beside_it() -> None:
    with live_stack("galera2@11.8+garbd") as stack:
        stack.kill("galera1", "galera2")
        stack.start()
        assert stack.sql("galera1", VIEW) == "3,Primary"
        stack.kill("galera1", "galera2", "garbd1")
        stack.start()
        assert stack.sql("galera1", VIEW) == "3,Primary"

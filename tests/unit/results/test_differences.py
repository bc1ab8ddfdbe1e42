"""What else differs between two results is listed, and what identifies a node is not."""

from sandbox.results.differences import differences_between
from sandbox.results.record import Inputs
from unit.results.made_results import HOST, HOST_CLASS, matrix_part, side
from unit.results.samples import sample_record

FIGURES = {"off": [1.0, 2.0], "on": [1.0, 2.0], "canary": [1.0, 2.0]}


def test_two_results_of_one_setup_differ_in_nothing() -> None:
    found = differences_between(side(FIGURES, matrix_part()), side(FIGURES, matrix_part(), days=3))
    assert not found.others and not found.variables


def test_commit_host_plan_servers_inputs_and_variables_are_told() -> None:
    newer = [
        node.model_copy(update={"server_version": "9.7.5", "image_id": "sha256:2"}) if node.name == "mysql1" else node
        for node in sample_record().nodes
    ]
    host = HOST.model_copy(update={"kernel": "6.2", "inputs": Inputs(assignments=["sync_binlog=0"])})
    first = side(FIGURES, matrix_part(), tool_commit="aaa", variables={"mysql1": {"sync_binlog": "1", "port": "1"}})
    second = side(
        FIGURES,
        matrix_part(seconds=10, host_class="Another"),
        tool_commit="bbb+",
        nodes=newer,
        environment=host,
        variables={"mysql1": {"sync_binlog": "0", "port": "2", "new_one": "x"}},
    )
    found = differences_between(first, second)
    told = [(each.what, each.first, each.second) for each in found.others]
    assert told == [
        ("commit of this tool", "aaa", "bbb+"),
        ("host class", HOST_CLASS, "Another"),
        ("host: kernel", None, "6.2"),
        ("plan: seconds", "5", "10"),
        ("mysql1: server_version", "9.7.4-2 (Debian)", "9.7.5"),
        ("mysql1: image_id", "sha256:1", "sha256:2"),
        ("input: assignments", None, "sync_binlog=0"),
    ], "each once, though two cells have it"
    variables = [(each.what, each.first, each.second) for each in found.variables]
    assert variables == [("mysql1: new_one", None, "x"), ("mysql1: sync_binlog", "1", "0")]


def test_a_node_that_only_one_has_and_another_load_are_told() -> None:
    record = sample_record()
    load = record.workload.model_copy(update={"threads": 64})
    first, second = side({"bench": [1.0]}), side({"bench": [1.0]}, nodes=record.nodes[:1], workload=load)
    told = [(each.what, each.first, each.second) for each in differences_between(first, second).others]
    assert told == [("load: threads", "8", "64"), ("replica1: term", "mysql@9.7", None)]


def test_other_options_and_an_edited_file_are_told() -> None:
    load = sample_record().workload.model_copy(update={"options": {"warehouses": 1}})
    other = load.model_copy(update={"options": {"warehouses": 10}, "file_sha256": "abc"})
    found = differences_between(side({"bench": [1.0]}, workload=load), side({"bench": [1.0]}, workload=other))
    assert [(each.what, each.first, each.second) for each in found.others] == [
        ("load: options", "warehouses=1", "warehouses=10"),
        ("load: file_sha256", None, "abc"),
    ]

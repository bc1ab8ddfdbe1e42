"""A repro without what its bug does not need, on oracles that are made up."""

from typing import Any

import pytest
import yaml

from sandbox.core.errors import MachineError
from sandbox.repro.definition import Repro
from sandbox.repro.shrinking import Shrinker, Shrunk

PADDED = """\
title: T
question: Q?
profile: galera3@10.11+haproxy+threadpool
set: "max_connections=50 galera:init_connect='SET a = 1' wsrep_slave_threads=4"
load:
  sql: create table t (id int primary key); create table other (id int); insert into t values (1)
  rows:
    t: {count: 1000, values: "{n}"}
steps:
  - s1 @galera1: begin
  - s3 @galera1: select 1
  - s1: select id from t
    name: read
  - s2 @galera2: update t set id = 2
    name: write
  - s1: update t set id = 3
  - s1: commit
  - wait: 1s
expect:
  bug: [{result: write}]
  fixed: [{result: write, error: 1213}]
"""


def shrunk(needs: dict[str, Any]) -> tuple[Shrunk, list[str]]:
    """The file without what this oracle does not need: words of steps, statements, variables and
    terms, and a number of rows and of members.
    """
    said: list[str] = []

    def shows(repro: Repro) -> bool:
        text = [step.text for step in repro.steps]
        rows = repro.load.rows["t"].count if "t" in repro.load.rows else 0
        return (
            all(any(word in each for each in text) for word in needs.get("steps", ()))
            and all(word in (repro.load.sql or "") for word in needs.get("sql", ()))
            and all(word in " ".join(repro.set) for word in needs.get("set", ()))
            and all(word in repro.profile for word in needs.get("terms", ()))
            and rows >= needs.get("rows", 0)
            and repro.profile[:7] >= f"galera{needs.get('members', 1)}"
        )

    source = yaml.safe_load(PADDED)
    return Shrinker("padded", shows, said.append).run(source), said


def test_only_what_the_bug_needs_is_left() -> None:
    found, said = shrunk(
        {
            "steps": ["begin", "s2 @galera2"],
            "sql": ["create table t "],
            "set": ["init_connect"],
            "terms": ["threadpool"],
            "rows": 200,
            "members": 2,
        }
    )
    assert found.source["steps"] == [
        {"s1 @galera1": "begin"},
        {"s2 @galera2": "update t set id = 2", "name": "write"},
    ]
    assert found.source["load"]["sql"] == "create table t (id int primary key)"
    assert found.source["set"] == ["galera:init_connect='SET a = 1'"]
    assert found.source["profile"] == "galera2@10.11+threadpool"
    assert 200 <= found.source["load"]["rows"]["t"]["count"] <= 250
    assert any(line.startswith("without 5 of 7 steps: ") for line in said)


def test_a_step_that_an_expectation_names_stays() -> None:
    found, _ = shrunk({})
    assert [step.get("name") for step in found.source["steps"]] == ["write"]
    assert found.source["profile"] == "galera1@10.11" and "set" not in found.source


def test_what_is_left_is_a_repro_and_the_file_given_is_unchanged() -> None:
    found, _ = shrunk({"steps": ["commit"]})
    made = Repro.model_validate({**found.source, "name": "x"})
    assert made.steps[-1].text == "s1: commit"
    text = yaml.safe_dump(found.source, sort_keys=False, allow_unicode=True)
    assert yaml.safe_load(text) == found.source


def test_an_engine_that_fails_ends_the_search() -> None:
    """Else every part would look as if the bug needed it."""

    def shows(_: Repro) -> bool:
        raise MachineError("no engine", "it does not answer", "try: make doctor")

    with pytest.raises(MachineError):
        Shrinker("padded", shows, lambda _: None).run(yaml.safe_load(PADDED))


def test_nothing_is_tried_twice() -> None:
    tried: list[str] = []

    def shows(repro: Repro) -> bool:
        tried.append(repr(repro))
        return "begin" in " ".join(step.text for step in repro.steps)

    found = Shrinker("padded", shows, lambda _: None).run(yaml.safe_load(PADDED))
    assert len(tried) == len(set(tried)) <= found.tries

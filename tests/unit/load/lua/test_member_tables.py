"""Tables of its own for each member of a cluster: together all of them, none twice."""

from hypothesis import given
from hypothesis import strategies as st
from lupa.luajit21 import LuaRuntime

from unit.load.lua.script import WORKLOADS

# A draw takes each number in turn, from the first to the last.
_SYSBENCH = """
local hosts, tables, member = ...
local turn = -1
sysbench = {opt = {mysql_host = hosts, tables = tables}, rand = {}}
function sysbench.rand.uniform(first, last)
   turn = turn + 1
   return first + turn % (last - first + 1)
end
function thread_init() con = {query_row = function(_, statement) asked = statement; return member end} end
"""  # noqa: E501


def thread_of(members: int, tables: int, member: str) -> LuaRuntime:
    """The Lua state of a thread that is connected to a member, as sysbench has it before the first
    event.
    """
    lua = LuaRuntime(unpack_returned_tuples=True)
    hosts = lua.table_from([f"galera{number}" for number in range(1, members + 1)])
    lua.execute(_SYSBENCH, hosts, tables, member)
    lua.execute((WORKLOADS / "common/member_tables.lua").read_text())
    lua.globals().thread_init()
    return lua


def tables_of(members: int, tables: int, member: str) -> list[int]:
    """What it draws as the number of a table, until each has been drawn."""
    lua = thread_of(members, tables, member)
    assert lua.globals().asked == "SELECT @@hostname"
    return [int(lua.globals().sysbench.rand.uniform(1, tables)) for _ in range(tables)]


def test_of_three_members_the_second_has_every_third_table_from_the_second_on() -> None:
    assert set(tables_of(3, 8, "galera2")) == {2, 5, 8} and set(tables_of(3, 8, "galera3")) == {
        3,
        6,
    }


@given(
    st.integers(1, 9).flatmap(lambda members: st.tuples(st.just(members), st.integers(members, 30)))
)
def test_no_table_is_drawn_at_two_members_and_none_is_left_out(sizes: tuple[int, int]) -> None:
    members, tables = sizes
    drawn = [set(tables_of(members, tables, f"galera{number}")) for number in range(1, members + 1)]
    assert set.union(*drawn) == set(range(1, tables + 1)) and sum(map(len, drawn)) == tables


def test_what_is_no_table_is_drawn_as_before() -> None:
    uniform = thread_of(3, 6, "galera2").globals().sysbench.rand.uniform
    assert [int(uniform(1, 100)) for _ in range(3)] == [1, 2, 3] and int(uniform(4, 6)) == 4

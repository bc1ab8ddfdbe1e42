"""Conflicts by code, as each thread prints them: what sysbench's output reader understands."""

from lupa.luajit21 import LuaRuntime

from sandbox.load.common.load_output import SysbenchOutput
from unit.load.lua.script import WORKLOADS


def printed_by(codes: list[int], script: str = "") -> list[str]:
    """The lines of a thread that met these conflicts in a script."""
    lua = LuaRuntime(unpack_returned_tuples=True)
    printed: list[str] = []
    lua.execute("sysbench = {hooks = {}}\n" + script)
    lua.execute((WORKLOADS / "common/conflict_codes.lua").read_text())
    lua.globals().io.write = lambda text: printed.append(text)
    lua.globals().io.flush = lambda: None
    for code in codes:
        lua.globals().sysbench.hooks.before_restart_event(lua.table_from({"sql_errno": code}))
    lua.globals().thread_done(0)
    lua.execute("scripts_own = {restarted, ended}")
    assert dict(lua.globals().scripts_own) == ({1: len(codes), 2: 0} if script else {})
    return "".join(printed).splitlines()


def test_each_code_is_counted_and_those_of_all_threads_add_up() -> None:
    output = SysbenchOutput("measure")
    for line in (*printed_by([1213, 3101, 1213]), *printed_by([]), *printed_by([1213])):
        output.feed(line)
    assert output._conflicts == {"1213": 3, "3101": 1}


def test_what_a_script_does_itself_it_still_does() -> None:
    own = """
    restarted = 0
    function sysbench.hooks.before_restart_event() restarted = restarted + 1 end
    function thread_done(number) ended = number end
    """
    assert printed_by([1020], own) == ["conflicts of code 1020: 1"]

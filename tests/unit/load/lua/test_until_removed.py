"""A script that ends its threads once its own file is gone, and until then does what the script
before it does.
"""

from pathlib import Path
from typing import Any

from lupa.luajit21 import LuaRuntime

from unit.load.lua.script import WORKLOADS


def test_each_event_is_the_scripts_own_until_the_file_is_gone(tmp_path: Path) -> None:
    script = tmp_path / "wrapped_load.lua"
    added = (WORKLOADS / "replica_catch_up/until_removed.lua").read_text()
    script.write_text("ran = 0\nfunction event(number) ran = ran + number end\n" + added)
    threads: list[Any] = [LuaRuntime(), LuaRuntime()]
    for lua in threads:
        lua.globals().dofile(str(script))
        assert [lua.globals().event(each) for each in (1, 2)] == [
            None,
            None,
        ] and lua.globals().ran == 3
    script.unlink()
    for lua in threads:
        assert lua.globals().event(1) is True and lua.globals().ran == 3, (
            "no transaction after the end"
        )

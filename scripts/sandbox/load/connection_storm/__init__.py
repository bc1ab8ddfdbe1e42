"""Connect, one query, disconnect; latency covers both the connect and the query."""

from pydantic import Field

from sandbox.load.common.sysbench_load import LuaLoad


class ConnectionStorm(LuaLoad):
    """Every thread has at most one connection at a time."""

    query: str = Field(default="SELECT 1", min_length=1, description="the query of each connection")

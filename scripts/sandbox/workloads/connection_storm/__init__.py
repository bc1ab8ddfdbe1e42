"""Connect, one query, disconnect; latency covers both the connect and the query."""

from pydantic import Field

from sandbox.workloads.common import prepared
from sandbox.workloads.common.lua_load import LuaLoad
from sandbox.workloads.common.model import Parameters


class ConnectionStorm(LuaLoad):
    """Every thread has at most one connection at a time."""

    query: str = Field(default="SELECT 1", min_length=1, description="the query of each connection")

    def wanted(self, parameters: Parameters) -> prepared.Prepared | None:  # noqa: ARG002  (the shape of a workload)
        """Needs no data."""
        return None

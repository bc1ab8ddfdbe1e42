"""MySQL Connector/Python."""

import sys
from typing import Any

import mysql.connector

sys.path.append("/drivers/common")
from dbapi import Opening, Talk, read_opening


def connect(opening: Opening) -> Any:
    """One host, or the list of its option ``failover``; of equal priority it would draw one."""
    host, port = opening.hosts[0]
    where: dict[str, Any] = {"host": host, "port": port}
    if opening.mode == "failover":
        places = [
            {"host": name, "port": at, "priority": 100 - place}
            for place, (name, at) in enumerate(opening.hosts)
        ]
        where = {"failover": places}
    return mysql.connector.connect(
        **where,
        user=opening.user,
        password=opening.password,
        database=opening.schema,
        autocommit=True,
        connection_timeout=opening.timeout_s,
        read_timeout=opening.timeout_s,
        write_timeout=opening.timeout_s,
    )


VERSION = f"MySQL Connector/Python {mysql.connector.__version__}"
Talk(read_opening(), connect).listen(VERSION)

"""MySQL Connector/Python."""

import sys
from typing import Any

import mysql.connector

sys.path.append("/drivers/common")
from dbapi import Opening, Talk, read_opening


def connect(opening: Opening) -> Any:
    """One host, or the list of its option ``failover``."""
    places = [{"host": name, "port": port} for name, port in opening.hosts]
    where: dict[str, Any] = {"failover": places} if opening.mode == "failover" else places[0]
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

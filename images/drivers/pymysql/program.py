"""PyMySQL."""

import sys

import pymysql

sys.path.append("/drivers/common")
from dbapi import Opening, Talk, read_opening


def connect(opening: Opening) -> pymysql.Connection:
    """One host: it takes no list."""
    host, port = opening.hosts[0]
    return pymysql.connect(
        host=host,
        port=port,
        user=opening.user,
        password=opening.password,
        database=opening.schema,
        autocommit=True,
        connect_timeout=opening.timeout_s,
        read_timeout=opening.timeout_s,
        write_timeout=opening.timeout_s,
    )


Talk(read_opening(), connect).listen(f"PyMySQL {pymysql.VERSION_STRING}")

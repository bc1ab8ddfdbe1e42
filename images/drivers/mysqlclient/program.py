"""mysqlclient, whose module is MySQLdb."""

import sys
from typing import Any

import MySQLdb
from MySQLdb import _mysql

sys.path.append("/drivers/common")
from dbapi import Opening, Talk, read_opening


def connect(opening: Opening) -> Any:
    """One host, or a list that Connector/C takes in the place of one."""
    host, port = opening.hosts[0]
    if opening.mode == "host-list":
        host = ",".join(f"{name}:{at}" for name, at in opening.hosts)
    return MySQLdb.connect(
        host=host,
        port=port,
        user=opening.user,
        password=opening.password,
        database=opening.schema,
        autocommit=True,
        connect_timeout=opening.timeout_s,
        read_timeout=opening.timeout_s,
        write_timeout=opening.timeout_s,
        read_default_file="/drivers/common/client.cnf",
    )


VERSION = f"mysqlclient {MySQLdb.__version__}, MariaDB Connector/C {_mysql.get_client_info()}"
Talk(read_opening(), connect).listen(VERSION)

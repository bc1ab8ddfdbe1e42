"""Runs in the client node: writes numbered rows to whichever host takes them, prints each
acknowledged number.

A row names the server that took it.
"""

import select
import sys
from typing import Any

import pymysql


def connect(host: str) -> "pymysql.Connection[Any]":
    """A connection that gives up soon: the host may be dead, frozen or read-only."""
    return pymysql.connect(
        host=host,
        read_default_file="/sandbox/app.cnf",
        database="sbtest",
        autocommit=True,
        connect_timeout=2,
        read_timeout=10,
        write_timeout=10,
    )


def stopped() -> bool:
    """Whether the test closed our input, waiting up to 5 ms: that is also the pace."""
    return bool(select.select([sys.stdin], [], [], 0.005)[0])


def main(hosts: list[str]) -> None:
    """Writes until the input is closed; a failed write moves on to the next host."""
    number, connection, position = 0, None, 0
    while not stopped():
        number += 1
        try:
            if connection is None:
                connection = connect(hosts[position % len(hosts)])
                with connection.cursor() as cursor:
                    cursor.execute(
                        "create table if not exists ledger (id bigint primary key, host"
                        " varchar(64))"
                    )
            with connection.cursor() as cursor:
                cursor.execute("insert into ledger values (%s, @@hostname)", (number,))
            print(number, flush=True)
        except pymysql.Error:
            connection, position = None, position + 1


main(sys.argv[1:])

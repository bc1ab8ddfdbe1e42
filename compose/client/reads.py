"""Which servers answer the reads that go through a proxy, judged by a policy: reads.py POLICY HOST PORT SERVER…

Prints the name of the policy where it holds, else how many reads each server answered.
``readers``: none on the writer while another server lives; ``all``: some on the writer and some beside it; ``any``.
"""

import socket
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pymysql

SESSIONS = 40
AT_ONCE = 10
PATIENCE_S = 5
"""A proxy follows a change of roles within so long."""


def session(host, port):
    return pymysql.connect(
        host=host, port=port, read_default_file="/sandbox/app.cnf", autocommit=True, connect_timeout=3, read_timeout=3
    )


def asked(cursor, query):
    cursor.execute(query)
    return cursor.fetchone()[0]


def writer(host, port):
    """The server that a transaction which writes is sent to."""
    with session(host, port) as connection, connection.cursor() as cursor:
        cursor.execute("start transaction")
        cursor.execute("insert into sandbox.ready (id, at) values (2, now()) on duplicate key update at = now()")
        name = asked(cursor, "select @@hostname")
        cursor.execute("commit")
        return name


def reader(host, port):
    """The server that a read is sent to; it takes a while, so that several are under way at once."""
    with session(host, port) as connection, connection.cursor() as cursor:
        return asked(cursor, "select @@hostname, sleep(0.02)")


def lives(server):
    try:
        socket.create_connection((server, 3306), 1).close()
    except OSError:
        return False
    return True


def judged(policy, host, port, servers):
    """(whether the policy holds, reads by server)"""
    written = writer(host, port)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        reads = Counter(threads.map(lambda _: reader(host, port), range(SESSIONS)))
    on_writer = reads.pop(written, 0)
    others = [server for server in servers if server != written and lives(server)]
    holds = policy == "any" or not others or (on_writer > 0 and bool(reads) if policy == "all" else on_writer == 0)
    told = ", ".join(f"{count} on {name}" for name, count in sorted(reads.items()))
    return holds, f"of {SESSIONS} reads {on_writer} on the writer {written}" + (f", {told}" if told else "")


def main():
    policy, host, port, *servers = sys.argv[1:]
    until = time.monotonic() + PATIENCE_S
    holds, told = judged(policy, host, int(port), servers)
    while not holds and time.monotonic() < until:
        time.sleep(0.3)
        holds, told = judged(policy, host, int(port), servers)
    print(policy if holds else told)


if __name__ == "__main__":
    main()

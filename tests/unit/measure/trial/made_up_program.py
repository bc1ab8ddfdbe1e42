"""A program that speaks the protocol of docs/drivers.md, without a driver: what a test wants it to
answer stands in the mode.
"""

import sys


def say(*fields: object) -> None:
    """One line."""
    print(*fields, sep="\t", flush=True)


def main() -> None:
    """Modes: ``good``; ``refused``, ``lost``, ``unreachable``: every write; ``silent``; ``ends``,
    at the first write; ``broken``, before it is ready.
    """
    _, user, _, _, _, _, _, mode, hosts = sys.stdin.readline().rstrip("\n").split("\t")
    if mode == "broken":
        print("no such library", file=sys.stderr)
        return
    say("ready", f"made up for {user} at {hosts}")
    for line in sys.stdin:
        verb, number, sql = line.rstrip("\n").split("\t")
        print("a warning that is no answer", file=sys.stderr)
        if verb == "read":
            ops = sql.partition("IN (")[2].partition(")")[0].replace(" ", "")
            found = [] if ops in ("", "NULL") else ops.split(",")
            say("ok", number, "mysql1", len(found), ",".join(found) or "NULL")
        elif mode == "ends":
            return
        elif mode == "refused":
            say("error", number, "sent", 1290, "read only")
        elif mode == "lost":
            say("error", number, "sent", "PROTOCOL_CONNECTION_LOST", "gone away")
        elif mode == "unreachable":
            say("error", number, "connect", "dial error", "refused")
        elif mode != "silent":
            say("ok", number)


if __name__ == "__main__":
    main()

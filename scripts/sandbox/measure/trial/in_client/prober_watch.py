"""Runs in the client node: observes every server, without a load, and prints what names its state
when that changes.

The request is the first argument; commands come by standard input. It ends at the end of its input,
and on TERM.
"""

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.measure.trial.in_client import prober
    from sandbox.measure.trial.in_client import prober_links as links
    from sandbox.measure.trial.in_client import prober_observers as observers
else:
    import prober  # shipped into the same folder
    import prober_links as links
    import prober_observers as observers


def main() -> None:
    """Argument: the request as JSON: observe, observe_interval_s, schema, root_file."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    request = json.loads(sys.argv[1])
    ending = prober.Ending()
    clock = prober.Clock()
    prober.begin(prober.end_on_term, ending)
    lines = prober.LineWriter(prober.write_out, ending.end_now)
    lines.line(json.dumps({"probe": 1, "began_utc_s": clock.began_utc_s}))

    def line(kind: object, *rest: object) -> None:
        if kind == "w":
            lines.line_now(kind, *rest)

    addresses = {each["node"]: each["address"] for each in request["observe"]}
    root = links.account(request["root_file"], request["schema"])
    for target in request["observe"]:
        follow = observers.Observer(target, root, addresses, ledger=False).follow
        prober.begin(follow, request["observe_interval_s"], line, clock, ending.finished)
    prober.obey(sys.stdin, addresses, lines, clock, ending)


if __name__ == "__main__":
    main()
    os._exit(0)  # a question to a server that hangs may wait for long

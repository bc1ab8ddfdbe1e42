"""Finds in a server's log the line that says why it left its cluster. Reads text only."""

import re

_REASONS = {
    "galera": (
        r"Inconsistent by consensus.*",
        r"Inconsistency detected: .*",
        r"(?:errno|Error_code): ?1950.*|.*\berrno:? 1950\b.*",
        r"Failed to (?:apply write set|report last committed|apply app buffer).*",
        r"(?:SST|State transfer) (?:request )?failed.*|SST (?:sending|script|disabled).*failed.*",
        r"Process completed with error: .*",
        r"Node consistency compromi[sz]ed.*|.*consistency compromi[sz]ed.*",
        r"failed to open gcomm backend connection: .*|failed to reach primary view.*",
        r".*backend must be restarted.*|Exception in .*gcomm.*",
    ),
    "gr": (
        r"Member was expelled from the group.*",
        r"Worker \d+ failed executing transaction .*",
        r"This member has more executed transactions than those present in the group.*",
        r"Fatal error during the (?:incremental )?[Rr]ecovery process.*|Maximum number of retries.*",
        r"The member was unable to reconnect.*|This server is not able to reach a majority.*",
    ),
}  # fmt: skip
"""In the order of their weight: what comes first says more than what follows from it."""
_ERRORS = {
    "galera": re.compile(r"\[ERROR\] (?:\[[^\]]*\] )*(WSREP.*|.*Slave.*|.*Replica.*)"),
    "gr": re.compile(r"\[ERROR\] (?:\[[^\]]*\] )*(Plugin group_replication.*|Replica.*|Slave.*)"),
}
_NOISE = re.compile(r"^(?:\[[^\]]*\] )*(?:WSREP: |Plugin group_replication reported: )?")
LIMIT = 300


def reason_in(log: str, topology: str) -> str:
    """Why a server left; else its last error; empty where the log has none. At most ``LIMIT`` characters."""
    lines = log.splitlines()
    for pattern in _REASONS.get(topology, ()):
        for line in reversed(lines):
            if found := re.search(pattern, line):
                return _tidy(found[0])
    errors = _ERRORS.get(topology)
    for line in reversed(lines):
        if errors and (error := errors.search(line)):
            return _tidy(error[1])
    return ""


def _tidy(text: str) -> str:
    plain = _NOISE.sub("", text.strip()).strip("' ")
    return plain if len(plain) <= LIMIT else f"{plain[: LIMIT - 1]}…"

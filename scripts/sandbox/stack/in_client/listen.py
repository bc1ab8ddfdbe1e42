"""Runs in a container of `make doctor`: says that it listens on a port, and ends with the first
connection to it.
"""

import socket
import sys

server = socket.create_server(("", int(sys.argv[1])))
server.settimeout(60)  # nothing stays behind if its parent is killed
print("listening", flush=True)
server.accept()

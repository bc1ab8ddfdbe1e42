"""Python that runs in the client node, shipped as source: no import of ours in here."""

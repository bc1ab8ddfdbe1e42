"""Python that runs in a helper container: shipped as source, no import of ours in here."""

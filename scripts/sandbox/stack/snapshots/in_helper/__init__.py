"""Python that runs in a helper container: shipped as source, so it imports nothing of ours."""

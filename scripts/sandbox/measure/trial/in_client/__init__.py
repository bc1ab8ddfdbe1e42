"""Python of a trial that runs in the client node, shipped as source, so it imports nothing of
ours.
"""

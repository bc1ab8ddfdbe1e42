"""Evidence of a running stack in one archive: what is asked of which node, and how it is packed."""

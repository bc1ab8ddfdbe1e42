"""What `make import` reads: one file a kind of source, each a draft of a repro."""

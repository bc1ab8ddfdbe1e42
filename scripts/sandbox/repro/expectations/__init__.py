"""The kinds of expectations of a repro, one file each."""

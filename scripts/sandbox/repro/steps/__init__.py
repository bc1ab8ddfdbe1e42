"""The kinds of steps of a repro, one file each."""

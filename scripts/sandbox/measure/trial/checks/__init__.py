"""Verdicts on what a trial left, one file per check: its name is its file's."""

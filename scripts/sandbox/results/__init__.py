"""The record of a run, and the store that keeps it."""

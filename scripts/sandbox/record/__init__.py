"""The record of a run, the table of metrics, and the store that keeps results."""

"""PURE: when to believe a difference: the rules of docs/statistics.md, and comparisons of
records.
"""

"""Repros: what a bug report describes as a file, carried out and judged on any version."""

"""Sandbox matrix for MySQL-family servers."""

__version__ = "0.2.0"

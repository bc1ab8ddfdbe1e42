"""Sandbox matrix for MySQL-family servers."""

__version__ = "0.1.0"

"""Sandbox matrix for MySQL-family servers."""

"""PURE: turns records and plans into text, tables and files."""

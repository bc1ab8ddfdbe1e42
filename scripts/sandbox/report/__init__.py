"""PURE: records and plans become text, tables and files."""

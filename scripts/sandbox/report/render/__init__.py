"""PURE: how a document looks: in a terminal, as Markdown, as an HTML page, as JSON data."""

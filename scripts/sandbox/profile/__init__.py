"""PURE, but for the reader: from an expression to a plan and to one Compose file.

- typed by a user: `grammar`, `refusal` (and the nearest profile that plans), `alternatives`
- declared by files: `library`, `images` (the catalog), `reader`, `versions`, `names`
- planned: `drafts` (groups, term by term), `planner`, `apply` (settings, `SET=`), `plan`
- written: `compose`, `files` (mounted into nodes), `templates`, `variables`, `data_directory`
"""

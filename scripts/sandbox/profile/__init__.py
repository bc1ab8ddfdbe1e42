"""PURE: an expression, the catalog, components and settings become a Plan and one Compose file."""

"""What breaks a node, one file per fault: `inject` and `heal`; its name is its file's."""

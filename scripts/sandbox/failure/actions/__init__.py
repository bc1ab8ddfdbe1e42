"""What an operator does to a group, one file per action: `perform`; its name is its file's."""

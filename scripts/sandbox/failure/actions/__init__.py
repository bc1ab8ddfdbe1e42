"""Actions of an operator on a group, one file each: `perform`; its name is its file's."""

"""What loads a stack: one file per workload, its file name is its name; `common` holds what they share."""

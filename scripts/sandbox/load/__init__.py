"""The workloads: one file each, named after the workload; `common` holds what they share."""

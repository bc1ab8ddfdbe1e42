"""What faults share: their interface and registry, schedules and targets, the guard that heals."""

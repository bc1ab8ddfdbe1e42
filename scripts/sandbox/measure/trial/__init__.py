"""A trial: the prober, its schedule, the ledger, observers and figures (docs/failover.md)."""

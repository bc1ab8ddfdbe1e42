"""What a trial's probe saw: its log read, the figures of the outage, and the ledger's verdicts (docs/failover.md)."""

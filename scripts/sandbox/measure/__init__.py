"""One measurement: what a bench and a trial share, and the bench."""

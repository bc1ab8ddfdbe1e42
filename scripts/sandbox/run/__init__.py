"""One run: load, sampler, fingerprint, verdict, record."""

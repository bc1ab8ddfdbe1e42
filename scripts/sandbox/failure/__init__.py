"""Failures and repairs: faults, actions, the guard that heals."""

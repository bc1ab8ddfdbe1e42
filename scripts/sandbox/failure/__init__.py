"""What breaks and what an operator does: faults, actions, the guard that heals."""

"""What checks share: the evidence that they judge, and how all of them are run."""

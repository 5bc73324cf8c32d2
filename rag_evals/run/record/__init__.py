"""What does a run folder keep? The log of outcomes and samples, and the index over it."""

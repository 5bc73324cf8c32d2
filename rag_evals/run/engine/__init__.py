"""Execution of plans: sessions, the loop over rows, streams and batches."""

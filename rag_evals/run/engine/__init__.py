"""Plan execution: sessions, the loop over rows, streams and batches."""

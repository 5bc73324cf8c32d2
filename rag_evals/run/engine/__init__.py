"""How is a plan carried out? Sessions, the loop over rows, streams, and batches."""

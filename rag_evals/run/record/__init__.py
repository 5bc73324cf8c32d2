"""The files of a run folder: logs of outcomes and samples, and an index of these logs."""

"""The files of a run folder: logs of outcomes and samples, and the index of both."""

"""How do a run's numbers get into other programs? As a frame, or as a file they open."""

from rag_evals.run.export.files import Layout, safe_cell, write_run
from rag_evals.run.export.frames import frame_of

__all__ = ["Layout", "frame_of", "safe_cell", "write_run"]

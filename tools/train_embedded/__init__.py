"""Training of the embedded judge: `python -m tools.train_embedded DATA_DIR`."""

import os

# Sums in one thread: the same bytes on every machine, and no waiting for busy cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

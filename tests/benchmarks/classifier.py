"""How fast is a classifier? Seconds for 1000 pairs, by batch size and device.

On the CPU 128 pairs are timed for each batch size, two full batches of 64, and the seconds scaled.

    python tests/benchmarks/classifier.py [MODEL] [DEVICE]

Without a model it takes the structure of HHEM-2.1-Open (FLAN-T5-base) with random weights: as fast
as the real one, and of no use for anything else. Needs the extra `hf`.
"""

import sys
import tempfile
import time
from pathlib import Path

from rag_evals.verify import ClassifierVerifier

_PAIRS = 1000
_PAIRS_ON_CPU = 128
_CHUNK = "the eiffel tower stands in paris . it was completed in 1889 . " * 12
_STATEMENT = "the tower stands in paris and it was completed in 1923 ."


def random_hhem(folder: Path) -> str:
    """Make a T5 of the real size, with random weights and a tokenizer of whole words."""
    import transformers

    from tests.classifiers.models import tokenizer

    sizes = {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_heads": 12}
    config = transformers.T5Config(vocab_size=64, num_labels=2, **sizes)
    transformers.T5ForTokenClassification(config).save_pretrained(folder)
    tokenizer(t5=True).save_pretrained(folder)
    return str(folder)


def measure(model: str, device: str) -> None:
    """Print a line for each batch size."""
    for batch_size in (1, 10, 64):
        verifier = ClassifierVerifier(model, device=device, batch_size=batch_size)
        pairs = _PAIRS if device.startswith("cuda") else _PAIRS_ON_CPU
        verifier.verify([_STATEMENT], [_CHUNK])
        began = time.perf_counter()
        verdicts = verifier.verify([_STATEMENT] * pairs, [_CHUNK])
        took = time.perf_counter() - began
        read = sum(verdict.windows or 0 for verdict in verdicts)
        seconds = took * _PAIRS / read
        print(
            f"{device}, batch {batch_size}: {took:.1f} s for {read} pairs, {seconds:.1f} s for "
            f"{_PAIRS}",
            flush=True,
        )


if __name__ == "__main__":
    named, where = [*sys.argv[1:], "", ""][:2]
    with tempfile.TemporaryDirectory() as temporary:
        measure(named or random_hhem(Path(temporary)), where or "cpu")

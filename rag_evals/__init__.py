"""Grade RAG answers: check which statements the sources support, and how certain each score is.

```python
from rag_evals import Faithfulness

result = Faithfulness.grade(
    question="Where is the Eiffel Tower?",
    answer="The Eiffel Tower stands in Paris.",
    context=["The Eiffel Tower stands in Paris, France."],
    client="embedded",
)
print(result.score)
#> 1.0
```

Names are loaded on first use, so importing the package is fast.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Create `__getattr__`, `__dir__` and `__all__` for a lazily loaded package (PEP 562).

    The names are listed in the package's `__init__.pyi`, which type checkers read as well.
    """
    stub = Path(sys.modules[package].__path__[0], "__init__.pyi").read_text(encoding="utf-8")
    homes = {
        name: home for home, name in re.findall(r"(?m)^from (rag_evals\S*) import (\w+)", stub)
    }

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # In the stub, `from rag_evals import testing as testing` names a submodule.
        value = (
            import_module(f"{home}.{name}")
            if home == package
            else getattr(import_module(home), name)
        )
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes), sorted(homes)


__getattr__, __dir__, __all__ = lazy_names(__name__)

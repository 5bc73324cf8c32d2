"""Paste the help text of every command into the docs: now a part of `python -m tools.generate`."""

import subprocess
import sys

sys.exit(subprocess.call([sys.executable, "-m", "tools.generate"]))

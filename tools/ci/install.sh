#!/usr/bin/env bash
# Install rag_evals: what PACKAGE names, as pip takes it, or else the copy that this script is in.
# Where the command is there and PACKAGE is empty, nothing is done.
set -euo pipefail
if [[ -z "${PACKAGE:-}" ]] && command -v rag-evals >/dev/null; then
    echo "rag-evals is there: $(command -v rag-evals)"
    exit 0
fi
python -m pip install --quiet "${PACKAGE:-$(dirname "$0")/../..}"

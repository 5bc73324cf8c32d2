#!/usr/bin/env bash
# Install PACKAGE, in any form that pip accepts; if it is empty, install the copy of rag_evals that
# contains this script, unless the command is already installed.
set -euo pipefail
if [[ -z "${PACKAGE:-}" ]] && command -v rag-evals >/dev/null; then
    echo "rag-evals is already installed: $(command -v rag-evals)"
    exit 0
fi
python -m pip install --quiet "${PACKAGE:-$(dirname "$0")/../..}"

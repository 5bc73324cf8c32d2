#!/usr/bin/env bash
# Fetch the baseline: what the last good build of BRANCH kept as ARTIFACT, into the folder BASELINE.
# Without one, nothing is fetched, and the gate says that there was nothing to compare with.
set -euo pipefail
: "${GITHUB_REPOSITORY:?}" "${GITHUB_WORKFLOW:?}" "${BRANCH:?}" "${ARTIFACT:?}" "${BASELINE:?}"
build=$(gh run list --repo "$GITHUB_REPOSITORY" --workflow "$GITHUB_WORKFLOW" --branch "$BRANCH" \
    --status success --limit 1 --json databaseId --jq '.[0].databaseId // empty')
if [[ -z "$build" ]]; then
    echo "no baseline: no build of $BRANCH has ended well yet"
elif ! gh run download "$build" --repo "$GITHUB_REPOSITORY" --name "$ARTIFACT" --dir "$BASELINE"; then
    echo "::warning::no baseline: build $build of $BRANCH kept no artifact $ARTIFACT, or it expired"
fi

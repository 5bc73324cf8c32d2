#!/usr/bin/env bash
# Download ARTIFACT of the last successful build of BRANCH into the folder BASELINE. If there is no
# such build, nothing is downloaded, and the gate reports that there is no baseline.
set -euo pipefail
: "${GITHUB_REPOSITORY:?}" "${GITHUB_WORKFLOW:?}" "${BRANCH:?}" "${ARTIFACT:?}" "${BASELINE:?}"
build=$(gh run list --repo "$GITHUB_REPOSITORY" --workflow "$GITHUB_WORKFLOW" --branch "$BRANCH" \
    --status success --limit 1 --json databaseId --jq '.[0].databaseId // empty')
if [[ -z "$build" ]]; then
    echo "no baseline: no build of $BRANCH has succeeded yet"
elif ! gh run download "$build" --repo "$GITHUB_REPOSITORY" --name "$ARTIFACT" --dir "$BASELINE"; then
    echo "::warning::no baseline: build $build of $BRANCH has no artifact $ARTIFACT, or it has expired"
fi

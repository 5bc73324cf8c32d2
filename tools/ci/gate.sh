#!/usr/bin/env bash
# Grade DATA into the folder KEPT (run, junit.xml), and compare it with BASELINE, the same folder
# from an earlier build. Exit with the code of `rag-evals grade`, or if that is 0, of `compare`.
# JUDGE, GRADERS (separated by spaces), FAIL_UNDER, AT, MIN_SCORED and ROW_UNDER are options of
# `grade`; MARGIN is the value of `compare --fail-if-worse`. Empty variables are ignored.
set -euo pipefail
: "${DATA:?set DATA to the file to grade}"
kept=${KEPT:-rag-evals}
baseline=${BASELINE:-rag-evals-baseline}
mkdir -p "$kept"

options=()
option() { # NAME VALUE
    if [[ -n "$2" ]]; then
        options+=("$1" "$2")
    fi
}
option --judge "${JUDGE:-}"
for grader in ${GRADERS:-}; do
    option --grader "$grader"
done
option --fail-under "${FAIL_UNDER:-}"
option --at "${AT:-}"
option --min-scored "${MIN_SCORED:-}"
option --row-under "${ROW_UNDER:-}"

code=0
rag-evals grade "$DATA" --quiet --restart --out "$kept/run" --junit "$kept/junit.xml" \
    ${options[@]+"${options[@]}"} || code=$?
if [[ ! -f "$kept/run/manifest.json" ]]; then
    exit "$code"
fi
if [[ ! -f "$baseline/run/manifest.json" ]]; then
    echo "no baseline in $baseline: nothing to compare with"
    exit "$code"
fi
worse=0
rag-evals compare "$baseline/run" "$kept/run" --fail-if-worse "${MARGIN:-0}" || worse=$?
if ((code == 0)); then
    code=$worse
fi
exit "$code"

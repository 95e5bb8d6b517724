#!/usr/bin/env bash
# What goals cost a model: calls and bytes per task, measured at the bundled goal-only scenarios
# with a scripted model. Needs the built programs on PATH and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
player=
clean_up() {
  [ -n "$player" ] && kill "$player" 2>/dev/null
  rm -rf "$folder"
}
trap clean_up EXIT
fixture-sites model --script fixtures/model/*.yaml >"$folder/says" &
player=$!
for _ in $(seq 100); do [ -s "$folder/says" ] && break; sleep 0.1; done
read -r _ address <"$folder/says"
export OPENAI_BASE_URL="$address/v1" OPENAI_MODEL=scripted
# The test accounts of the fixture sites; nothing else has these values.
export CODE_HOST_USER_USERNAME=ada-tester CODE_HOST_USER_PASSWORD=correct-horse-77-battery
export CODE_HOST_USER_ORIGIN=http://code.test

rehearsal run --tag model --fresh --out "$folder/runs" >"$folder/console" || {
  cat "$folder/console" >&2
  exit 1
}
python3 ci/bench/calls.py "$folder"/runs/*/events.jsonl

#!/usr/bin/env bash
# Installs pragmark from the action's own source, unless it is there.
set -euo pipefail
if command -v pragmark >/dev/null; then
  pragmark --version
  exit 0
fi
cargo install --quiet --locked --path "$GITHUB_ACTION_PATH/crates/pragmark" --root "$RUNNER_TEMP/pragmark"
echo "$RUNNER_TEMP/pragmark/bin" >> "$GITHUB_PATH"

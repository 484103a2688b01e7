#!/usr/bin/env bash
# Installs pragmark, unless it is there: the release of the action's own tag, or for a branch the latest one. The action's own source is
# compiled where there is no release, or where a commit was pinned: its source is what was asked for.
set -euo pipefail
if command -v pragmark >/dev/null; then
  pragmark --version
  exit 0
fi
case ${ACTION_REF:-} in
  v[0-9]*.[0-9]*.[0-9]*) release="download/$ACTION_REF" ;;
  *[!0-9a-f]*) release=latest/download ;;
  *) release= ;;
esac
url="${GITHUB_SERVER_URL:-https://github.com}/${ACTION_REPOSITORY:-}/releases/$release"
if [ -n "$release" ] && [ -n "${ACTION_REPOSITORY:-}" ] && curl -fsSL --output /dev/null "$url/SHA256SUMS"; then
  sh "$GITHUB_ACTION_PATH/packaging/install.sh" "$url" "$RUNNER_TEMP/pragmark"
else
  echo "there is no release for ${ACTION_REF:-this source}: pragmark is compiled, which takes minutes"
  cargo install --quiet --locked --path "$GITHUB_ACTION_PATH/crates/pragmark" --root "$RUNNER_TEMP/pragmark"
fi
echo "$RUNNER_TEMP/pragmark/bin" >> "$GITHUB_PATH"

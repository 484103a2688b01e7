#!/usr/bin/env bash
# Installs pragmark, unless it is there: the release of the action's own tag, or the latest one. Only where the repository has
# no release, the action's own source is compiled.
set -euo pipefail
if command -v pragmark >/dev/null; then
  pragmark --version
  exit 0
fi
case ${ACTION_REF:-} in
  v[0-9]*.[0-9]*.[0-9]*) release="download/$ACTION_REF" ;;
  *) release=latest/download ;;
esac
url="${GITHUB_SERVER_URL:-https://github.com}/${ACTION_REPOSITORY:-}/releases/$release"
if curl -fsSL --output /dev/null "$url/SHA256SUMS"; then
  sh "$GITHUB_ACTION_PATH/packaging/install.sh" "$url" "$RUNNER_TEMP/pragmark"
else
  echo "there is no release at $url: pragmark is compiled, which takes minutes"
  cargo install --quiet --locked --path "$GITHUB_ACTION_PATH/crates/pragmark" --root "$RUNNER_TEMP/pragmark"
fi
echo "$RUNNER_TEMP/pragmark/bin" >> "$GITHUB_PATH"

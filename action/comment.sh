#!/usr/bin/env bash
# Keeps one comment on the pull request up to date: the one that begins with the mark.
set -euo pipefail
mark='<!-- pragmark guard -->'
body="$RUNNER_TEMP/pragmark-guard/comment.md"
# A comment has at most 65,536 characters.
{ echo "$mark"; head -c 60000 "$RUNNER_TEMP/pragmark-guard/summary.md"; } > "$body"
comments="repos/$REPOSITORY/issues/$PULL_REQUEST/comments"
# All of them are read before one is taken: a pipe that closes early ends the first command by a signal.
all=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$mark\")) | .id")
known=${all%%$'\n'*}
if [ -n "$known" ]; then
  gh api --method PATCH "repos/$REPOSITORY/issues/comments/$known" --field "body=@$body" --silent
else
  gh api --method POST "$comments" --field "body=@$body" --silent
fi

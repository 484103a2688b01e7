#!/usr/bin/env bash
# Runs `pragmark guard`, writes the job summary and the page, and notes the exit code for a later step.
set -uo pipefail
cd "$DIRECTORY" || exit 3
out="$RUNNER_TEMP/pragmark-guard"
mkdir -p "$out"
rm -rf "$out/run"
read -ra arguments <<<"$ARGUMENTS"
pragmark guard --base "$BASE" "${arguments[@]}" \
  --markdown "$out/guard.md" --html "$out/guard.html" --json "$out/guard.json" --junit "$out/guard.xml" \
  --out "$out/run"
code=$?
case $code in
  0) result=passed ;;
  4) result=failed ;;
  5) result=undecided ;;
  *) exit $code ;;
esac
cat "$out/guard.md" >> "$GITHUB_STEP_SUMMARY"
{
  echo "code=$code"
  echo "result=$result"
  echo "page=$out"
} >> "$GITHUB_OUTPUT"

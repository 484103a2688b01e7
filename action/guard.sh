#!/usr/bin/env bash
# Runs `pragmark guard`, writes the job summary and the page, and notes the exit code for the last step, so that the
# summary and the comment say what happened even if a side cannot be measured.
set -uo pipefail
out="$RUNNER_TEMP/pragmark-guard"
rm -rf "$out"
mkdir -p "$out"
read -ra arguments <<<"$ARGUMENTS"
{
  (
    cd "$DIRECTORY" || exit 3
    pragmark guard --base "$BASE" "${arguments[@]}" \
      --out "$out/run"
  ) 2>&1 >&3 | tee "$out/messages.txt" >&2
  code=${PIPESTATUS[0]}
} 3>&1
case $code in
  0) result=passed ;;
  4) result=failed ;;
  5) result=undecided ;;
  *) result=unmeasured ;;
esac
if [ "$result" = unmeasured ]; then
  { echo "# Guard: not measured"; echo; sed 's/^/    /' "$out/messages.txt"; } > "$out/summary.md"
else
  cp "$out/run/summary.md" "$out/summary.md"
fi
cat "$out/summary.md" >> "$GITHUB_STEP_SUMMARY"
{
  echo "code=$code"
  echo "result=$result"
  echo "page=$out"
} >> "$GITHUB_OUTPUT"

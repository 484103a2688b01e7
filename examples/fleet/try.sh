#!/usr/bin/env bash
# A server and agents on this machine without containers, and a run over them: try.sh AGENTS EXPERIMENT [OPTIONS…]
set -euo pipefail
agents="${1:?the number of agents}"
shift
pragmark="${PRAGMARK:-pragmark}"
server="${PRAGMARK_NATS_SERVER:-nats-server}"
port="${PRAGMARK_NATS_PORT:-4222}"
work="$(mktemp -d)"
processes=()
stop() {
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

printf 'listen: "127.0.0.1:%s"\njetstream { store_dir: "%s", sync_interval: always }\n' "$port" "$work/storage" >"$work/server.conf"
"$server" -c "$work/server.conf" >"$work/server.log" 2>&1 &
processes+=("$!")
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.1; done

for number in $(seq "$agents"); do
  mkdir "$work/data-$number"
  "$pragmark" agent "nats://127.0.0.1:$port" --name "agent-$number" --dir "$work/data-$number" >"$work/agent-$number.log" 2>&1 &
  processes+=("$!")
done
"$pragmark" run "$@" --fleet "nats://127.0.0.1:$port" --agents "$agents"

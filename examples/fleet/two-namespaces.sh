#!/usr/bin/env bash
# A server and `pragmark run` in one network namespace, two agents in another, and TCP between them with latency and loss:
# two-namespaces.sh EXPERIMENT [OPTIONS…]. It needs root and iproute2; where the kernel has no netem, also Python and TUN devices.
# The network is that of DELAY_MS, JITTER_MS and LOSS_PERCENT, in each direction.
set -euo pipefail
here="$(dirname "$(readlink -f "$0")")"
pragmark="$(command -v "${PRAGMARK:-pragmark}")"
server="$(command -v "${PRAGMARK_NATS_SERVER:-nats-server}")"
delay="${DELAY_MS:-20}" jitter="${JITTER_MS:-5}" loss="${LOSS_PERCENT:-1}"
near="pragmark-near-$$" far="pragmark-far-$$"
work="$(mktemp -d)"
processes=()
line=""
stop() {
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  if [ -n "$line" ]; then
    kill "$line" 2>/dev/null || true
    wait "$line" 2>/dev/null || true
    echo "network: $(tail -1 "$work/line.log")"
  fi
  wait 2>/dev/null || true
  ip netns delete "$near" 2>/dev/null || true
  ip netns delete "$far" 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

# A pair of devices with netem; fails where the kernel has none.
with_netem() {
  ip link add near netns "$near" type veth peer name far netns "$far"
  for side in near far; do
    ip netns exec "${!side}" tc qdisc add dev "$side" root netem delay "${delay}ms" "${jitter}ms" loss "$loss%" 2>/dev/null || {
      ip -n "$near" link delete near
      return 1
    }
  done
}

with_program() {
  python3 "$here/network.py" "$near" "$far" "$delay" "$jitter" "$loss" >"$work/line.log" &
  line="$!"
  until grep -q ready "$work/line.log"; do sleep 0.1; done
}

ip netns add "$near"
ip netns add "$far"
if with_netem; then means="netem"; else with_program && means="network.py, because this kernel has no netem"; fi
# Addresses of RFC 5737, which are nobody's.
ip -n "$near" address add 192.0.2.1/30 dev near
ip -n "$far" address add 192.0.2.2/30 dev far
for side in near far; do
  ip -n "${!side}" link set lo up
  ip -n "${!side}" link set "$side" up
done
echo "network: ${delay} ± ${jitter} ms and ${loss} % of loss in each direction, by $means"

printf 'listen: "192.0.2.1:4222"\njetstream { store_dir: "%s", sync_interval: always }\n' "$work/storage" >"$work/server.conf"
ip netns exec "$near" "$server" -c "$work/server.conf" >"$work/server.log" 2>&1 &
processes+=("$!")
until ip netns exec "$near" bash -c 'exec 3<>/dev/tcp/192.0.2.1/4222' 2>/dev/null; do sleep 0.1; done

for number in 1 2; do
  mkdir "$work/data-$number"
  ip netns exec "$far" "$pragmark" agent nats://192.0.2.1:4222 --name "far-$number" --dir "$work/data-$number" >"$work/agent-$number.log" 2>&1 &
  processes+=("$!")
done
ip netns exec "$near" "$pragmark" run "$@" --fleet nats://192.0.2.1:4222 --agents 2
ip netns exec "$near" "$pragmark" fleet status nats://192.0.2.1:4222

#!/bin/sh
# Runs in the guest: latency by size of the value, one request at a time, of bare UCX, of farcached over
# the fabric, and of memcached over TCP; server on core 0, client on core 1; the three take turns.
# Arguments: rounds, seconds for each size, and the sizes.
rounds=$1
seconds=$2
sizes=${3:-8,64,512,4K,8K,16K,64K,256K,1M}
# As the fabric sets it, so that the lanes are the same.
keep_alive=inf
# Bare UCX polls for ever. A value of 64 KB takes milliseconds here, longer than anybody polls for it: on both sides it would be
# the waking up that is measured.
poll_us=100000

await_port() {
    tries=0
    until echo version | nc -w 1 127.0.0.1 "$1" | grep -q VERSION; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { echo "nobody listens on port $1"; exit 1; }
        sleep 0.2
    done
}

# latency TRANSPORT PORT: tries again, as wire-up here takes about as long as the client is patient (1 s).
latency() {
    for _ in 1 2 3 4 5; do
        measure_latency "$@" && return
    done
    return 1
}

measure_latency() {
    ohb_memlat --transport "$1" --servers "127.0.0.1:$2" --benchmarks get,set --sizes "$sizes" \
        --seconds "$seconds" --keys 16 --cpus 1 --poll-us "$poll_us"
}

taskset 1 farcached -u root -t 1 --poll-us "$poll_us" -m 512 -I 16m -p 11311 --fabric require &
taskset 1 memcached -u root -t 1 -m 512 -I 16m -p 11411 &
await_port 11311
await_port 11411
status=0
for round in $(seq "$rounds"); do
    echo "=== round $round: bare UCX"
    UCX_KEEPALIVE_INTERVAL=$keep_alive farcache-fabric-limits --get-sizes "$sizes" --set-sizes "$sizes" \
        --no-rates --no-large --seconds "$seconds" || status=1
    echo "=== round $round: farcached over the fabric"
    latency fabric 11311 || status=1
    echo "=== round $round: memcached over TCP"
    latency tcp 11411 || status=1
done
exit $status

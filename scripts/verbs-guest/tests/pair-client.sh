#!/bin/sh
# Runs in guest 2: the checks of the fabric that need no server of their own, over the network.
tries=0
until echo version | nc -w 2 guest1 11211 | grep -q VERSION; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || { echo "no server in guest 1"; exit 1; }
    sleep 1
done
# An emulated machine stands still for seconds where its host is busy, which is no death: the fabric's own
# limits (100 ms, 3 tries, 4 s) would take it for one. The end of the TCP connection tells of real ones.
export UCX_RC_TIMEOUT=2s UCX_RC_RETRY_COUNT=7 UCX_UD_TIMEOUT=60s
farcache-conformance --transport fabric --servers guest1:11211 --large-mb 64

#!/bin/sh
# Runs in guest 2: the checks of the fabric that need no server of their own, over the network.
tries=0
until echo version | nc -w 2 guest1 11211 | grep -q VERSION; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || { echo "no server in guest 1"; exit 1; }
    sleep 1
done
farcache-conformance --transport fabric --servers guest1:11211 --large-mb 64
